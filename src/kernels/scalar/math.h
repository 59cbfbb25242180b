#pragma once

#include <cmath>
#include <cstdint>

#include "base/host_device.h"

// exp, log and similar functions without branches or tables, so that loops over them become vector code and the host
// and every device get the same arithmetic. Accurate to about two units in the last place; coefficients are minimax
// fits.
namespace mirrortrain::scalar {

/// Integers as wide as a float, or as a vector of floats: functions of any `Real` work on both.
template <class Real>
struct IntegersOf;
template <>
struct IntegersOf<float> {
  using Type = std::int32_t;
  MIRRORTRAIN_HOST_DEVICE static float as_real(std::int32_t n) { return static_cast<float>(n); }
};
template <class Real>
using Integers = typename IntegersOf<Real>::Type;

/// `value` in every element.
template <class Real>
MIRRORTRAIN_HOST_DEVICE constexpr Real all(float value) {
  return Real{} + value;
}

template <class Real>
MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE Real magnitude(Real x) {
  return x < 0.0f ? -x : x;
}

/// x = n ln 2 + r with |r| <= ln 2 / 2, for |x| < 2^21.
template <class Real>
struct ReducedExponent {
  Integers<Real> n;
  Real r;
};

template <class Real>
MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE ReducedExponent<Real> reduce_exponent(Real x) {
  // Adding 1.5 * 2^23 leaves the nearest integer in the low bits.
  constexpr float kRounder = 12582912.0f;
  const Real shifted = x * 1.44269504f + kRounder;
  const Real n = shifted - kRounder;
  // ln 2 in two parts: n times the first is exact.
  const Real r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  return {bit_cast<Integers<Real>>(shifted) - bit_cast<std::int32_t>(kRounder), r};
}

/// e^r - 1 for |r| <= ln 2 / 2.
template <class Real>
MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE Real exp_minus_one_near_zero(Real r) {
  const Real q = (((1.38145592e-3f * r + 8.3687352e-3f) * r + 4.1668389e-2f) * r + 1.66665211e-1f) * r + 4.9999994e-1f;
  return r * r * q + r;
}

/// 2^n for -126 <= n <= 127.
template <class Real>
MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE Real power_of_two(Integers<Real> n) {
  return bit_cast<Real>((n + 127) << 23);
}

/// e^x; underflows to 0 and overflows to infinity, NaN propagates.
template <class Real>
MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE Real exp(Real x) {
  x = x < -104.0f ? all<Real>(-104.0f) : x;
  x = x > 89.0f ? all<Real>(89.0f) : x;
  const auto [n, r] = reduce_exponent(x);
  // In two factors, because 2^n itself may be out of range.
  const Integers<Real> half = n >> 1;
  return (1.0f + exp_minus_one_near_zero(r)) * power_of_two<Real>(half) * power_of_two<Real>(n - half);
}

/// e^x - 1 for x <= 0, exact to the last places near 0 too.
template <class Real>
MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE Real expm1_negative(Real x) {
  x = x < -30.0f ? all<Real>(-30.0f) : x;
  const auto [n, r] = reduce_exponent(x);
  const Real power = power_of_two<Real>(n);
  return power * exp_minus_one_near_zero(r) + (power - 1.0f);
}

/// ln x for normal x > 0; NaN propagates, and of infinity it is NaN.
template <class Real>
MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE Real log(Real x) {
  // x = 2^n (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)).
  const Integers<Real> bits = bit_cast<Integers<Real>>(x), n = (bits - 0x3f3504f3) >> 23;
  const Real f = bit_cast<Real>(bits - (n << 23)) - 1.0f;
  Real p = 6.74664006e-2f * f - 1.16756521e-1f;
  p = p * f + 1.1888162e-1f;
  p = p * f - 1.24055892e-1f;
  p = p * f + 1.42195523e-1f;
  p = p * f - 1.66679963e-1f;
  p = p * f + 2.00021192e-1f;
  p = p * f - 2.50000089e-1f;
  p = p * f + 3.33333135e-1f;
  const Real scale = IntegersOf<Real>::as_real(n), square = f * f;
  // What is not finite has the bits of some number here: x - x is 0 or NaN.
  return scale * 0.693359375f + (f + (square * (f * p - 0.5f) - scale * 2.12194440e-4f)) + (x - x);
}

/// ln(1 + x) for x >= -1/2, exact to the last places near 0 too.
template <class Real>
MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE Real log1p(Real x) {
  const Real sum = 1.0f + x, lost = x - (sum - 1.0f);
  return scalar::log(sum) + lost / sum;
}

MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE float tanh(float x) {
  const float magnitude = std::fabs(x), z = x * x;
  float p = -5.71704516e-3f;
  p = p * z + 2.0650588e-2f;
  p = p * z - 5.37434965e-2f;
  p = p * z + 1.33314908e-1f;
  p = p * z - 3.33332837e-1f;
  const float near = x * z * p + x;
  const float far = 1.0f - 2.0f / (scalar::exp(2.0f * magnitude) + 1.0f);
  return magnitude < 0.625f ? near : std::copysign(far, x);
}

/// 1 / (1 + e^-x), accurate for any x.
template <class Real>
MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE Real sigmoid(Real x) {
  return 1.0f / (1.0f + scalar::exp<Real>(-x));
}

/// ln(1 + e^x), accurate for any x.
template <class Real>
MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE Real softplus(Real x) {
  return (x < 0.0f ? Real{} : x) + log1p<Real>(scalar::exp<Real>(-magnitude(x)));
}

/// The normal distribution's density and probability of a value below x.
struct Normal {
  float density, below;
};

MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE Normal normal(float x) {
  const float magnitude = std::fabs(x), bell = scalar::exp(-0.5f * x * x);
  // The tail above |x| is e^(-x^2 / 2) times a smooth function of t.
  const float t = 1.0f / (1.0f + 0.25f * magnitude);
  float p = 1.65796224e-2f;
  p = p * t - 6.27919883e-2f;
  p = p * t + 5.16518652e-2f;
  p = p * t + 2.84366272e-2f;
  p = p * t + 1.27110286e-2f;
  p = p * t + 8.66574198e-2f;
  p = p * t + 7.19991997e-2f;
  p = p * t + 9.55157727e-2f;
  p = p * t + 9.94925499e-2f;
  p = p * t + 9.97479036e-2f;
  const float tail = bell * t * p;
  return {0.398942280f * bell, x < 0.0f ? tail : 1.0f - tail};
}

}  // namespace mirrortrain::scalar
