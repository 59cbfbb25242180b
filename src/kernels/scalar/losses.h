#pragma once

#include "kernels/scalar/math.h"

// What a loss adds for one element, as Keras has it, with the derivative with respect to the prediction.
namespace mirrortrain::scalar {

struct LossTerm {
  float value, slope;
};

/// (y - t)^2
struct SquaredError {
  MIRRORTRAIN_HOST_DEVICE LossTerm operator()(float y, float t) const { return {(y - t) * (y - t), 2.0f * (y - t)}; }
};

/// A probability as the losses read it: clipped to [1e-7, 1 - 1e-7], with no slope outside.
struct Clipped {
  float value;
  bool inside;
};

MIRRORTRAIN_HOST_DEVICE inline Clipped clipped(float p) {
  constexpr float kLow = 1e-7f, kHigh = static_cast<float>(1 - 1e-7);
  const float raised = p < kLow ? kLow : p;
  return {raised > kHigh ? kHigh : raised, p >= kLow && p <= kHigh};
}

/// -t ln p - (1 - t) ln(1 - p) with targets drawn towards 1/2 by `smoothing`.
struct BinaryCrossentropy {
  float smoothing = 0;
  MIRRORTRAIN_HOST_DEVICE LossTerm operator()(float y, float target) const {
    const float t = target * (1.0f - smoothing) + 0.5f * smoothing;
    const auto [p, inside] = clipped(y);
    const float value = -(t * scalar::log(p) + (1.0f - t) * scalar::log(1.0f - p));
    return {value, inside ? (p - t) / (p * (1.0f - p)) : 0.0f};
  }
};

/// The same of logits, right for any of them.
struct BinaryCrossentropyOfLogits {
  float smoothing = 0;
  MIRRORTRAIN_HOST_DEVICE LossTerm operator()(float y, float target) const {
    const float t = target * (1.0f - smoothing) + 0.5f * smoothing;
    return {softplus(y) - y * t, sigmoid(y) - t};
  }
};

/// A target of one class among `classes`, drawn towards 1 / classes.
MIRRORTRAIN_HOST_DEVICE inline float smoothed_class(float target, float smoothing, float classes) {
  return target * (1.0f - smoothing) + smoothing / classes;
}

}  // namespace mirrortrain::scalar
