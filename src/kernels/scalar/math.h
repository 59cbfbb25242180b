#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "base/philox.h"

// exp, log and their like without branches or tables, so that loops over them become vector code and the host and every
// device get the same arithmetic. Accurate to about two units in the last place; coefficients are minimax fits.
namespace mirrortrain::scalar {

/// x = n ln 2 + r with |r| <= ln 2 / 2, for |x| < 2^21.
struct ReducedExponent {
  std::int32_t n;
  float r;
};

MIRRORTRAIN_HOST_DEVICE inline ReducedExponent reduce_exponent(float x) {
  // Adding 1.5 * 2^23 leaves the nearest integer in the low bits.
  constexpr float kRounder = 12582912.0f;
  const float shifted = x * 1.44269504f + kRounder;
  const float n = shifted - kRounder;
  // ln 2 in two parts: n times the first is exact.
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  return {std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(kRounder), r};
}

/// e^r - 1 for |r| <= ln 2 / 2.
MIRRORTRAIN_HOST_DEVICE inline float exp_minus_one_near_zero(float r) {
  const float q = (((1.38145592e-3f * r + 8.3687352e-3f) * r + 4.1668389e-2f) * r + 1.66665211e-1f) * r + 4.9999994e-1f;
  return r * r * q + r;
}

/// 2^n for -126 <= n <= 127.
MIRRORTRAIN_HOST_DEVICE inline float power_of_two(std::int32_t n) { return std::bit_cast<float>((n + 127) << 23); }

/// e^x; 0 and infinity at the ends, NaN stays.
MIRRORTRAIN_HOST_DEVICE inline float exp(float x) {
  x = x < -104.0f ? -104.0f : x;
  x = x > 89.0f ? 89.0f : x;
  const auto [n, r] = reduce_exponent(x);
  // In two factors, as 2^n alone may lie outside the range.
  const std::int32_t half = n >> 1;
  return (1.0f + exp_minus_one_near_zero(r)) * power_of_two(half) * power_of_two(n - half);
}

/// e^x - 1 for x <= 0, exact to the last places near 0 too.
MIRRORTRAIN_HOST_DEVICE inline float expm1_negative(float x) {
  x = x < -30.0f ? -30.0f : x;
  const auto [n, r] = reduce_exponent(x);
  const float power = power_of_two(n);
  return power * exp_minus_one_near_zero(r) + (power - 1.0f);
}

/// ln x for normal x > 0.
MIRRORTRAIN_HOST_DEVICE inline float log(float x) {
  // x = 2^n (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)).
  const std::int32_t bits = std::bit_cast<std::int32_t>(x), n = (bits - 0x3f3504f3) >> 23;
  const float f = std::bit_cast<float>(bits - (n << 23)) - 1.0f;
  float p = 6.74664006e-2f;
  p = p * f - 1.16756521e-1f;
  p = p * f + 1.1888162e-1f;
  p = p * f - 1.24055892e-1f;
  p = p * f + 1.42195523e-1f;
  p = p * f - 1.66679963e-1f;
  p = p * f + 2.00021192e-1f;
  p = p * f - 2.50000089e-1f;
  p = p * f + 3.33333135e-1f;
  const float scale = static_cast<float>(n), square = f * f;
  return scale * 0.693359375f + (f + (square * (f * p - 0.5f) - scale * 2.12194440e-4f));
}

/// ln(1 + x) for x >= 0, exact to the last places near 0 too.
MIRRORTRAIN_HOST_DEVICE inline float log1p_positive(float x) {
  const float sum = 1.0f + x;
  const float lost = x - (sum - 1.0f);
  return scalar::log(sum) + lost / sum;
}

MIRRORTRAIN_HOST_DEVICE inline float tanh(float x) {
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

/// 1 / (1 + e^-x), right for any x.
MIRRORTRAIN_HOST_DEVICE inline float sigmoid(float x) { return 1.0f / (1.0f + scalar::exp(-x)); }

/// ln(1 + e^x), right for any x.
MIRRORTRAIN_HOST_DEVICE inline float softplus(float x) {
  return (x < 0.0f ? 0.0f : x) + log1p_positive(scalar::exp(-std::fabs(x)));
}

/// The normal distribution's density and probability of a value below x.
struct Normal {
  float density, below;
};

MIRRORTRAIN_HOST_DEVICE inline Normal normal(float x) {
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
