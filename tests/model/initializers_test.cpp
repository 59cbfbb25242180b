#include "model/initializers.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

using namespace mirrortrain;

namespace {

struct Moments {
  double mean = 0, variance = 0, kurtosis = 0, lowest = 0, highest = 0;
};

std::vector<float> draw(const Initializer& initializer, const Shape& shape, std::uint64_t seed = 7,
                        std::string_view name = "dense/kernel") {
  std::vector<float> elements(static_cast<std::size_t>(shape.elements()), std::numeric_limits<float>::quiet_NaN());
  initialize(initializer, shape, name, seed, elements);
  return elements;
}

Moments moments_of(const std::vector<float>& elements) {
  const auto count = static_cast<double>(elements.size());
  Moments moments;
  for (const float x : elements) moments.mean += x / count;
  double fourth = 0;
  for (const float x : elements) {
    moments.variance += std::pow(x - moments.mean, 2) / count;
    fourth += std::pow(x - moments.mean, 4) / count;
  }
  moments.kurtosis = fourth / (moments.variance * moments.variance);
  moments.lowest = *std::ranges::min_element(elements);
  moments.highest = *std::ranges::max_element(elements);
  return moments;
}

// Of the distributions themselves, whatever their scale.
constexpr double kUniformKurtosis = 1.8;
constexpr double kNormalKurtosis = 3.0;
constexpr double kTruncatedKurtosis = 2.3656;  // a normal cut off at two standard deviations
constexpr double kTruncatedStddev = 0.87962566;

}  // namespace

TEST_CASE("scaled initializers have Keras's variance and bounds") {
  using namespace initializers;
  struct Case {
    Initializer initializer;
    double variance_times_fans;  // with fan_in 400 and fan_out 100
    bool uniform;
  };
  const Shape dense{400, 100}, convolution{5, 10, 8, 2};  // 5 * 10 * 8 = 400 in, 5 * 10 * 2 = 100 out
  for (const Case& c : {Case{GlorotUniform{}, 1 / 250.0, true}, Case{GlorotNormal{}, 1 / 250.0, false},
                        Case{HeUniform{}, 2 / 400.0, true}, Case{HeNormal{}, 2 / 400.0, false},
                        Case{LecunUniform{}, 1 / 400.0, true}, Case{LecunNormal{}, 1 / 400.0, false}}) {
    CAPTURE(c.initializer.index());
    const Moments moments = moments_of(draw(c.initializer, dense));
    CHECK(moments.mean == doctest::Approx(0).scale(std::sqrt(c.variance_times_fans)).epsilon(0.02));
    CHECK(moments.variance == doctest::Approx(c.variance_times_fans).epsilon(0.02));
    CHECK(moments.kurtosis == doctest::Approx(c.uniform ? kUniformKurtosis : kTruncatedKurtosis).epsilon(0.03));
    const double bound =
        c.uniform ? std::sqrt(3 * c.variance_times_fans) : 2 * std::sqrt(c.variance_times_fans) / kTruncatedStddev;
    CHECK(moments.highest <= bound * (1 + 1e-6));
    CHECK(moments.lowest >= -bound * (1 + 1e-6));
    CHECK(moments.highest > 0.99 * bound);
    CHECK(moments.lowest < -0.99 * bound);

    // Few elements, so only the scale is looked at.
    CHECK(moments_of(draw(c.initializer, convolution)).variance == doctest::Approx(c.variance_times_fans).epsilon(0.2));
  }
}

TEST_CASE("unscaled initializers have the moments asked for") {
  using namespace initializers;
  const Shape shape{40000};
  const Moments normal = moments_of(draw(RandomNormal{1, 0.5}, shape));
  CHECK(normal.mean == doctest::Approx(1).epsilon(0.01));
  CHECK(normal.variance == doctest::Approx(0.25).epsilon(0.03));
  CHECK(normal.kurtosis == doctest::Approx(kNormalKurtosis).epsilon(0.05));

  const Moments truncated = moments_of(draw(TruncatedNormal{1, 0.5}, shape));
  CHECK(truncated.mean == doctest::Approx(1).epsilon(0.01));
  CHECK(std::sqrt(truncated.variance) == doctest::Approx(0.5 * kTruncatedStddev).epsilon(0.02));
  CHECK(truncated.highest <= 2);
  CHECK(truncated.lowest >= 0);

  const Moments uniform = moments_of(draw(RandomUniform{-1, 3}, shape));
  CHECK(uniform.mean == doctest::Approx(1).epsilon(0.02));
  CHECK(uniform.variance == doctest::Approx(16 / 12.0).epsilon(0.02));
  CHECK(uniform.lowest >= -1);
  CHECK(uniform.highest <= 3);
}

TEST_CASE("orthogonal matrices have orthonormal rows or columns, whichever are fewer") {
  for (const Shape& shape : {Shape{6, 6}, Shape{5, 20}, Shape{20, 5}, Shape{2, 10, 7}, Shape{1, 3}}) {
    CAPTURE(shape.text());
    const std::vector<float> elements = draw(initializers::Orthogonal{2}, shape);
    const std::int64_t columns = shape.back(), rows = shape.elements() / columns, vectors = std::min(rows, columns);
    const auto at = [&](std::int64_t vector, std::int64_t i) {
      return double{elements[static_cast<std::size_t>(rows <= columns ? vector * columns + i : i * columns + vector)]};
    };
    for (std::int64_t a = 0; a < vectors; ++a) {
      for (std::int64_t b = 0; b < vectors; ++b) {
        double dot = 0;
        for (std::int64_t i = 0; i < std::max(rows, columns); ++i) dot += at(a, i) * at(b, i);
        CHECK(dot == doctest::Approx(a == b ? 4 : 0).epsilon(1e-6));
      }
    }
  }
}

TEST_CASE("orthogonal matrices are drawn uniformly: no element is favoured, and signs are even") {
  double sum = 0, square = 0;
  constexpr int kDraws = 2000;
  for (std::uint64_t seed = 0; seed < kDraws; ++seed) {
    const double corner = double{draw(initializers::Orthogonal{}, {4, 4}, seed)[0]};
    sum += corner / kDraws;
    square += corner * corner / kDraws;
  }
  CHECK(std::abs(sum) < 0.04);
  CHECK(square == doctest::Approx(0.25).epsilon(0.06));
}

TEST_CASE("variance_scaling has Keras's variance for each mode, distribution and choice of axes") {
  using namespace initializers;
  struct Case {
    Fan mode;
    Distribution distribution;
    double variance;  // with fan_in 400 and fan_out 100
    double kurtosis;
  };
  for (const Case& c : {Case{Fan::kIn, Distribution::kTruncatedNormal, 3 / 400.0, kTruncatedKurtosis},
                        Case{Fan::kOut, Distribution::kUntruncatedNormal, 3 / 100.0, kNormalKurtosis},
                        Case{Fan::kAverage, Distribution::kUniform, 3 / 250.0, kUniformKurtosis}}) {
    VarianceScaling scaling;
    scaling.scale = 3;
    scaling.mode = c.mode;
    scaling.distribution = c.distribution;
    const Moments moments = moments_of(draw(scaling, {400, 100}));
    CHECK(moments.variance == doctest::Approx(c.variance).epsilon(0.02));
    CHECK(moments.kurtosis == doctest::Approx(c.kurtosis).epsilon(0.03));
    // The axes the other way round, of [inputs, heads, units].
    scaling.input_axes = {{1, -1}};
    scaling.output_axes = {{0}};
    CHECK(moments_of(draw(scaling, {100, 20, 20})).variance == doctest::Approx(c.variance).epsilon(0.02));
  }
}

TEST_CASE("the identity has ones on its diagonal, also where it is no square") {
  CHECK(draw(initializers::Identity{2}, {2, 3}) == std::vector<float>{2, 0, 0, 0, 2, 0});
  CHECK(draw(initializers::Identity{}, {3, 2}) == std::vector<float>{1, 0, 0, 1, 0, 0});
}

TEST_CASE("stft's kernels are Keras's") {
  // keras.initializers.STFT(side, window, scaling, periodic)((5, 1, 3))
  using namespace initializers;
  const auto check = [](const Stft& options, const std::vector<double>& expected) {
    const std::vector<float> found = draw(options, {5, 1, 3});
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      CHECK(double{found[i]} == doctest::Approx(expected[i]).scale(1).epsilon(1e-6));
    }
  };
  check({}, {0, 0, 0, 0.408248276, 0, -0.408248276, 0.816496551, -0.816496551, 0.816496551, 0.408248276, 0,
             -0.408248276, 0, 0, 0});
  check({Side::kImaginary, Window::kHamming, WindowScaling::kSpectrum, true},
        {0, 0, 0, 0, -0.147352651, 0, 0, 0, 0, 0, 0.33783251, 0, 0, 0, 0});
  check({Side::kReal, std::nullopt, std::nullopt, false}, {1, 1, 1, 1, 0, -1, 1, -1, 1, 1, 0, -1, 1, 1, 1});
  check({Side::kImaginary, Window::kHann, std::nullopt, true},
        {0, 0, 0, 0, -0.345491499, 0, 0, 0, 0, 0, 0.904508471, 0, 0, 0, 0});
}

TEST_CASE("constant initializers fill every element") {
  CHECK(draw(initializers::Zeros{}, {5}) == std::vector<float>(5, 0));
  CHECK(draw(initializers::Ones{}, {5}) == std::vector<float>(5, 1));
  CHECK(draw(initializers::Constant{-2.5}, {5}) == std::vector<float>(5, -2.5f));
}

TEST_CASE("random values depend on seed and variable name, and are not correlated") {
  for (const Initializer& initializer :
       {Initializer(initializers::GlorotUniform{}), Initializer(initializers::HeNormal{}),
        Initializer(initializers::RandomNormal{}), Initializer(initializers::Orthogonal{})}) {
    const Shape shape{100, 100};
    const auto first = draw(initializer, shape);
    CHECK(first == draw(initializer, shape));
    for (const auto& other : {draw(initializer, shape, 8), draw(initializer, shape, 7, "dense_1/kernel")}) {
      double product = 0;
      for (std::size_t i = 0; i < first.size(); ++i) product += double{first[i]} * other[i];
      CHECK(std::abs(product / 10000 / moments_of(first).variance) < 0.04);
    }
  }
}

TEST_CASE("every element of a length that is no multiple of four is filled") {
  for (const Initializer& initializer :
       {Initializer(initializers::RandomUniform{}), Initializer(initializers::RandomNormal{}),
        Initializer(initializers::TruncatedNormal{})}) {
    for (const std::int64_t length : {0, 1, 3, 5, 7}) {
      for (const float x : draw(initializer, {length})) CHECK(std::isfinite(x));
    }
  }
}
