#include "tune/truncated_normal.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace mirrortrain::tune {
namespace {

const double kLogSqrtTwoPi = 0.5 * std::log(2 * std::numbers::pi);

double cdf(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

/// Below about -38 the probability itself underflows: from -20 on this takes the asymptotic series of its logarithm
/// (Abramowitz and Stegun: "Handbook of Mathematical Functions", 26.2.12).
double log_cdf(double x) {
  if (x > 6) return std::log1p(-cdf(-x));
  if (x > -20) return std::log(cdf(x));
  double sum = 1, term = 1, before = 0;
  for (int i = 1; std::abs(sum - before) > std::numeric_limits<double>::epsilon(); ++i) {
    before = sum;
    term *= -(2 * i - 1) / (x * x);
    sum += term;
  }
  return -0.5 * x * x - std::log(-x) - kLogSqrtTwoPi + std::log(sum);
}

/// log(exp(p) - exp(q)) and log(exp(p) + exp(q)).
double log_difference(double p, double q) { return p + std::log1p(-std::exp(q - p)); }
double log_sum(double p, double q) { return std::max(p, q) + std::log1p(std::exp(-std::abs(p - q))); }

/// The x whose log_cdf is y, by Newton's method. It starts from the tail's asymptote, or in the middle from the
/// logistic distribution, which is close to the normal one.
double inverse_log_cdf(double y) {
  const bool is_right = y > -1e-2;  // there the left tail is more accurate
  const double z = is_right ? std::log(-std::expm1(y)) : y;
  double x = z < -5 ? -std::sqrt(-2 * (z + kLogSqrtTwoPi))
                    : -std::numbers::sqrt3 / std::numbers::pi * std::log(std::expm1(-z));
  for (int i = 0; i < 100; ++i) {
    const double reached = log_cdf(x), log_density = -0.5 * x * x - kLogSqrtTwoPi;
    const double change = (reached - z) * std::exp(reached - log_density);
    x -= change;
    if (std::abs(change) < 1e-10 * std::abs(x)) break;
  }
  return is_right ? -x : x;
}

}  // namespace

double log_normal_mass(double a, double b) {
  if (b <= 0) return log_difference(log_cdf(b), log_cdf(a));
  if (a > 0) return log_difference(log_cdf(-a), log_cdf(-b));
  return std::log1p(-cdf(a) - cdf(-b));
}

double truncated_normal_quantile(double q, double a, double b) {
  if (q <= 0) return a;
  if (q >= 1) return b;
  const double mass = log_normal_mass(a, b);
  const double x = a < 0 ? inverse_log_cdf(log_sum(log_cdf(a), std::log(q) + mass))
                         : -inverse_log_cdf(log_sum(log_cdf(-b), std::log1p(-q) + mass));
  return std::clamp(x, a, b);
}

}  // namespace mirrortrain::tune
