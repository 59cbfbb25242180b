#pragma once

#include <cmath>

#include "base/host_device.h"

namespace mirrortrain::scalar {

// Update rules as Keras 3 has them: one call changes one weight w and its slots, given its gradient g. What depends on
// the step is prepared once by at(), with the learning rate and the number of updates done, this one included (t, from
// 1).

/// w -= rate g
struct Sgd {
  static constexpr int kSlots = 0;
  float rate = 0;

  MIRRORTRAIN_HOST_DEVICE Sgd at(float learning_rate, long) const { return {learning_rate}; }
  MIRRORTRAIN_HOST_DEVICE void operator()(float& w, float g, float*) const { w -= rate * g; }
};

/// v = momentum v - rate g; w += v, or with Nesterov's look ahead w += momentum v - rate g.
template <bool kNesterov>
struct SgdMomentum {
  static constexpr int kSlots = 1;
  float momentum = 0;
  float rate = 0;

  MIRRORTRAIN_HOST_DEVICE SgdMomentum at(float learning_rate, long) const { return {momentum, learning_rate}; }
  MIRRORTRAIN_HOST_DEVICE void operator()(float& w, float g, float* slots) const {
    slots[0] = momentum * slots[0] - rate * g;
    w += kNesterov ? momentum * slots[0] - rate * g : slots[0];
  }
};

/// Adam (Kingma, Ba 2015) with both bias corrections in the rate, and AdamW's decoupled decay w -= decay rate w before
/// it.
template <bool kDecoupledDecay>
struct Adam {
  static constexpr int kSlots = 2;
  float beta_1 = 0.9f, beta_2 = 0.999f, epsilon = 1e-7f, weight_decay = 0;
  float corrected_rate = 0, kept = 1;

  MIRRORTRAIN_HOST_DEVICE Adam at(float learning_rate, long t) const {
    Adam rule = *this;
    const double count = static_cast<double>(t);
    rule.corrected_rate = static_cast<float>(learning_rate * std::sqrt(1.0 - std::pow(double{beta_2}, count)) /
                                             (1.0 - std::pow(double{beta_1}, count)));
    rule.kept = 1.0f - weight_decay * learning_rate;
    return rule;
  }
  MIRRORTRAIN_HOST_DEVICE void operator()(float& w, float g, float* slots) const {
    slots[0] += (g - slots[0]) * (1.0f - beta_1);
    slots[1] += (g * g - slots[1]) * (1.0f - beta_2);
    const float decayed = kDecoupledDecay ? w * kept : w;
    w = decayed - corrected_rate * slots[0] / (std::sqrt(slots[1]) + epsilon);
  }
};

}  // namespace mirrortrain::scalar
