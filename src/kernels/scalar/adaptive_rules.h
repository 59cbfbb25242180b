#pragma once

#include <array>
#include <cmath>
#include <string_view>

#include "base/host_device.h"
#include "kernels/scalar/math.h"

// Rules that scale each weight's step by its past gradients, and Lion; see kernels/scalar/update_rules.h for a rule's
// interface.
namespace mirrortrain::scalar {

/// rho v + (1 - rho) g^2 and similar averages.
MIRRORTRAIN_HOST_DEVICE inline float mixed(float rho, float before, float now) {
  return rho * before + (1.0f - rho) * now;
}

/// Divides by the root of the gradients' mean square, of their variance where kCentered (Hinton 2012).
template <bool kMomentum, bool kCentered>
struct RmspropRule {
  static constexpr auto kSlotNames = [] {
    if constexpr (kMomentum && kCentered) {
      return std::to_array<std::string_view>({"velocity", "momentum", "average_gradient"});
    } else if constexpr (kMomentum) {
      return std::to_array<std::string_view>({"velocity", "momentum"});
    } else if constexpr (kCentered) {
      return std::to_array<std::string_view>({"velocity", "average_gradient"});
    } else {
      return std::to_array<std::string_view>({"velocity"});
    }
  }();
  float rho = 0.9f, momentum = 0, epsilon = 1e-7f;
  float rate = 0;

  MIRRORTRAIN_HOST_DEVICE RmspropRule at(float learning_rate, long) const {
    return {rho, momentum, epsilon, learning_rate};
  }
  MIRRORTRAIN_HOST_DEVICE void operator()(float& w, float g, float* slots) const {
    slots[0] = mixed(rho, slots[0], g * g);
    float divisor = slots[0] + epsilon;
    if constexpr (kCentered) {
      float& average = slots[kMomentum ? 2 : 1];
      average = mixed(rho, average, g);
      divisor = slots[0] - average * average + epsilon;
    }
    float step = rate * g / std::sqrt(divisor);
    if constexpr (kMomentum) step = slots[1] = momentum * slots[1] + step;
    w -= step;
  }
};

/// Its hyperparameters choose among four functors, so that only the slots in use are stored.
struct Rmsprop {
  float rho = 0.9f, momentum = 0, epsilon = 1e-7f;
  bool centered = false;

  friend bool operator==(const Rmsprop&, const Rmsprop&) = default;
};

/// Divides by the root of the sum of the squared gradients (Duchi, Hazan, Singer 2011).
struct Adagrad {
  static constexpr auto kSlotNames = std::to_array<std::string_view>({"accumulator"});
  float initial_accumulator_value = 0.1f, epsilon = 1e-7f;
  float rate = 0;

  std::array<float, 1> first_slots() const { return {initial_accumulator_value}; }
  MIRRORTRAIN_HOST_DEVICE Adagrad at(float learning_rate, long) const {
    return {initial_accumulator_value, epsilon, learning_rate};
  }
  MIRRORTRAIN_HOST_DEVICE void operator()(float& w, float g, float* slots) const {
    slots[0] += g * g;
    w -= rate * g / std::sqrt(slots[0] + epsilon);
  }
  bool ignores_zeros() const { return epsilon > 0; }  // 0 / 0 otherwise
  friend bool operator==(const Adagrad&, const Adagrad&) = default;
};

/// Steps in the ratio of the roots of the mean squares of steps and gradients (Zeiler 2012).
struct Adadelta {
  static constexpr auto kSlotNames = std::to_array<std::string_view>({"accumulated_grad", "accumulated_delta_var"});
  float rho = 0.95f, epsilon = 1e-7f;
  float rate = 0;

  MIRRORTRAIN_HOST_DEVICE Adadelta at(float learning_rate, long) const { return {rho, epsilon, learning_rate}; }
  MIRRORTRAIN_HOST_DEVICE void operator()(float& w, float g, float* slots) const {
    slots[0] = mixed(rho, slots[0], g * g);
    const float step = std::sqrt(slots[1] + epsilon) * g / std::sqrt(slots[0] + epsilon);
    slots[1] = mixed(rho, slots[1], step * step);
    w -= rate * step;
  }
  friend bool operator==(const Adadelta&, const Adadelta&) = default;
};

/// Follow the regularized leader, with a proximal step for l1 (McMahan et al. 2013).
struct Ftrl {
  static constexpr auto kSlotNames = std::to_array<std::string_view>({"accumulator", "linear"});
  float learning_rate_power = -0.5f, initial_accumulator_value = 0.1f, l1_regularization_strength = 0,
        l2_regularization_strength = 0, l2_shrinkage_regularization_strength = 0, beta = 0;
  float rate = 0;

  std::array<float, 2> first_slots() const { return {initial_accumulator_value, 0}; }
  MIRRORTRAIN_HOST_DEVICE Ftrl at(float learning_rate, long) const {
    Ftrl rule = *this;
    rule.rate = learning_rate;
    return rule;
  }
  /// With a rate of 0, by which it would divide, or without any gradient so far the weight is unchanged.
  MIRRORTRAIN_HOST_DEVICE void operator()(float& w, float g, float* slots) const {
    const float sum = slots[0] + g * g, power = root(sum);
    const float shrunk = g + 2.0f * l2_shrinkage_regularization_strength * w;
    const float linear = slots[1] + shrunk - (power - root(slots[0])) / rate * w;
    const float quadratic = (power + beta) / rate + 2.0f * l2_regularization_strength;
    const float l1 = l1_regularization_strength, raised = linear < -l1 ? -l1 : linear;
    const bool moves = rate > 0.0f && quadratic > 0.0f;
    w = moves ? ((raised > l1 ? l1 : raised) - linear) / quadratic : w;
    slots[1] = moves ? linear : slots[1];
    slots[0] = moves ? sum : slots[0];
  }
  friend bool operator==(const Ftrl&, const Ftrl&) = default;

 private:
  /// x^-learning_rate_power
  MIRRORTRAIN_HOST_DEVICE float root(float x) const {
    if (learning_rate_power == -0.5f) return std::sqrt(x);
    return x > 0.0f ? scalar::exp(-learning_rate_power * scalar::log(x)) : (learning_rate_power < 0.0f ? 0.0f : 1.0f);
  }
};

/// Steps of one size, in the direction of the sign of momentum and gradient (Chen et al. 2023).
struct Lion {
  static constexpr auto kSlotNames = std::to_array<std::string_view>({"momentum"});
  float beta_1 = 0.9f, beta_2 = 0.99f;
  float rate = 0;

  MIRRORTRAIN_HOST_DEVICE Lion at(float learning_rate, long) const { return {beta_1, beta_2, learning_rate}; }
  MIRRORTRAIN_HOST_DEVICE void operator()(float& w, float g, float* slots) const {
    const float direction = mixed(beta_1, slots[0], g);
    w -= rate * (direction > 0.0f ? 1.0f : direction < 0.0f ? -1.0f : direction);  // NaN propagates
    slots[0] = mixed(beta_2, slots[0], g);
  }
  friend bool operator==(const Lion&, const Lion&) = default;
};

}  // namespace mirrortrain::scalar
