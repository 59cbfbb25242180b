#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>

#include "kernels/scalar/math.h"

using namespace mirrortrain;

namespace {

/// The largest error over [low, high], in units of the last place of the right result.
template <class Function, class Right>
double worst_ulps(double low, double high, const Function& function, const Right& right) {
  double worst = 0;
  for (int i = 0; i <= 100000; ++i) {
    const auto x = static_cast<float>(low + (high - low) * i / 100000);
    const double expected = right(static_cast<double>(x));
    const auto magnitude = static_cast<float>(std::fabs(expected));
    const double unit =
        static_cast<double>(std::nextafter(magnitude, std::numeric_limits<float>::infinity()) - magnitude);
    worst = std::max(worst, std::fabs(static_cast<double>(function(x)) - expected) / unit);
  }
  return worst;
}

}  // namespace

TEST_CASE("exp, log, tanh and their like are accurate to the last places") {
  CHECK(worst_ulps(
            -87, 88.7, [](float x) { return scalar::exp(x); }, [](double x) { return std::exp(x); }) < 2);
  CHECK(worst_ulps(
            -30, 0, [](float x) { return scalar::expm1_negative(x); }, [](double x) { return std::expm1(x); }) < 2);
  CHECK(worst_ulps(
            1e-7, 30, [](float x) { return scalar::log(x); }, [](double x) { return std::log(x); }) < 2);
  CHECK(worst_ulps(
            0.7, 1.4, [](float x) { return scalar::log(x); }, [](double x) { return std::log(x); }) < 2);
  CHECK(worst_ulps(
            -0.5, 1, [](float x) { return scalar::log1p(x); }, [](double x) { return std::log1p(x); }) < 2.5);
  CHECK(worst_ulps(
            -10, 10, [](float x) { return scalar::tanh(x); }, [](double x) { return std::tanh(x); }) < 2.5);
  CHECK(worst_ulps(
            -80, 20, [](float x) { return scalar::sigmoid(x); }, [](double x) { return 1 / (1 + std::exp(-x)); }) < 4);
  CHECK(worst_ulps(
            -80, 20, [](float x) { return scalar::softplus(x); }, [](double x) { return std::log1p(std::exp(x)); }) <
        4);
}

TEST_CASE("the normal distribution is accurate in its tails too") {
  const auto below = [](float x) { return scalar::normal(x).below; };
  const auto right = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
  CHECK(worst_ulps(-2, 6, below, right) < 8);
  for (const float x : {-10.0f, -6.0f, -3.0f}) {
    CHECK(static_cast<double>(below(x)) == doctest::Approx(right(static_cast<double>(x))).epsilon(1e-5));
  }
}

TEST_CASE("exp goes to zero and infinity at the ends and keeps NaN") {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  CHECK(scalar::exp(-200.0f) == 0);
  CHECK(scalar::exp(-kInf) == 0);
  CHECK(scalar::exp(100.0f) == kInf);
  CHECK(scalar::exp(kInf) == kInf);
  CHECK(std::isnan(scalar::exp(std::numeric_limits<float>::quiet_NaN())));
  CHECK(scalar::exp(0.0f) == 1);
  CHECK(scalar::log(1.0f) == 0);
}
