#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "base/host_device.h"

// Adam and its variants; see kernels/scalar/update_rules.h for a rule's interface.
namespace mirrortrain::scalar {

/// Adam (Kingma, Ba 2015) with both bias corrections in the rate; with kMaximum the second moment is its maximum so far
/// (Reddi, Kale, Kumar 2018).
template <bool kMaximum>
struct AdamRule {
  static constexpr auto kSlotNames = [] {
    if constexpr (kMaximum) {
      return std::to_array<std::string_view>({"momentum", "velocity", "velocity_hat"});
    } else {
      return std::to_array<std::string_view>({"momentum", "velocity"});
    }
  }();
  float beta_1 = 0.9f, beta_2 = 0.999f, epsilon = 1e-7f;
  float corrected_rate = 0;

  MIRRORTRAIN_HOST_DEVICE AdamRule at(float learning_rate, long t) const {
    AdamRule rule = *this;
    const double count = static_cast<double>(t);
    rule.corrected_rate = static_cast<float>(learning_rate * std::sqrt(1.0 - std::pow(double{beta_2}, count)) /
                                             (1.0 - std::pow(double{beta_1}, count)));
    return rule;
  }
  MIRRORTRAIN_HOST_DEVICE void operator()(float& w, float g, float* slots) const {
    slots[0] += (g - slots[0]) * (1.0f - beta_1);
    slots[1] += (g * g - slots[1]) * (1.0f - beta_2);
    float second = slots[1];
    if constexpr (kMaximum) slots[2] = second = slots[2] > second ? slots[2] : second;
    w -= corrected_rate * slots[0] / (std::sqrt(second) + epsilon);
  }
};

/// Its hyperparameters choose between two functors, so that the maximum is only stored if needed.
struct Adam {
  float beta_1 = 0.9f, beta_2 = 0.999f, epsilon = 1e-7f;
  bool amsgrad = false;

  friend bool operator==(const Adam&, const Adam&) = default;
};

/// Adam with the largest gradient so far, decaying, instead of the second moment (Kingma, Ba 2015).
struct Adamax {
  static constexpr auto kSlotNames = std::to_array<std::string_view>({"momentum", "norm"});
  float beta_1 = 0.9f, beta_2 = 0.999f, epsilon = 1e-7f;
  float corrected_rate = 0;

  MIRRORTRAIN_HOST_DEVICE Adamax at(float learning_rate, long t) const {
    Adamax rule = *this;
    rule.corrected_rate = static_cast<float>(learning_rate / (1.0 - std::pow(double{beta_1}, static_cast<double>(t))));
    return rule;
  }
  MIRRORTRAIN_HOST_DEVICE void operator()(float& w, float g, float* slots) const {
    const float size = std::fabs(g), decayed = beta_2 * slots[1];
    slots[0] += (g - slots[0]) * (1.0f - beta_1);
    slots[1] = decayed > size ? decayed : size;
    w -= corrected_rate * slots[0] / (slots[1] + epsilon);
  }
  friend bool operator==(const Adamax&, const Adamax&) = default;
};

/// Adam with Nesterov momentum (Dozat 2016). The first moment's weight at update i is u_i = beta_1 (1 - 0.96^i / 2).
struct Nadam {
  static constexpr auto kSlotNames = std::to_array<std::string_view>({"momentum", "velocity"});
  float beta_1 = 0.9f, beta_2 = 0.999f, epsilon = 1e-7f;
  float rate = 0, of_momentum = 0, of_gradient = 0, second_correction = 1;

  MIRRORTRAIN_HOST_DEVICE Nadam at(float learning_rate, long t) const {
    Nadam rule = *this;
    const double count = static_cast<double>(t), beta = beta_1;
    const double u = beta * (1 - 0.5 * std::pow(0.96, count)), next = beta * (1 - 0.5 * std::pow(0.96, count + 1));
    const double product = std::pow(beta, count) * product_of_weights(count);
    rule.rate = learning_rate;
    rule.of_momentum = static_cast<float>(next / (1 - product * next));
    rule.of_gradient = static_cast<float>((1 - u) / (1 - product));
    rule.second_correction = static_cast<float>(1 / (1 - std::pow(double{beta_2}, count)));
    return rule;
  }
  MIRRORTRAIN_HOST_DEVICE void operator()(float& w, float g, float* slots) const {
    slots[0] += (g - slots[0]) * (1.0f - beta_1);
    slots[1] += (g * g - slots[1]) * (1.0f - beta_2);
    w -= rate * (of_momentum * slots[0] + of_gradient * g) / (std::sqrt(slots[1] * second_correction) + epsilon);
  }
  friend bool operator==(const Nadam&, const Nadam&) = default;

 private:
  /// The product of 1 - q^i / 2 for i = 1 to t, with q = 0.96: its logarithm is minus the sum over k of
  /// 2^-k / k times the sum over i of q^(i k), which is a geometric one.
  MIRRORTRAIN_HOST_DEVICE static double product_of_weights(double t) {
    double logarithm = 0, half = 1, power = 1;
    const double end = std::pow(0.96, t);
    double end_power = 1;
    for (int k = 1; k <= 52; ++k) {
      half *= 0.5;
      power *= 0.96;
      end_power *= end;
      logarithm -= half / k * power * (1 - end_power) / (1 - power);
    }
    return std::exp(logarithm);
  }
};

/// Adam without first moment that needs no schedule (Defazio et al. 2024). The slot `momentum` is the sequence z of
/// plain steps and starts at the weights; x is the mean of all z; the weights are y = (1 - beta_1) z + beta_1 x, from
/// which x follows, with z as it was when y was made. During the first `warmup_steps` updates the rate grows linearly.
struct ScheduleFreeAdam {
  static constexpr auto kSlotNames = std::to_array<std::string_view>({"momentum", "velocity"});
  float beta_1 = 0.9f, beta_2 = 0.999f, epsilon = 1e-8f;
  std::int64_t warmup_steps = 0;
  float rate = 0, second_correction = 1, newest = 1;  ///< the share of the newest z in x
  float kept = 1;                                     ///< by weight decay, of y; z starts at the weights before it
  bool is_first = false;

  MIRRORTRAIN_HOST_DEVICE ScheduleFreeAdam at(float learning_rate, long t) const {
    ScheduleFreeAdam rule = *this;
    const double count = static_cast<double>(t);
    const bool warms_up = warmup_steps > 0 && t < warmup_steps;
    rule.rate =
        warms_up ? static_cast<float>(learning_rate * count / static_cast<double>(warmup_steps)) : learning_rate;
    rule.second_correction = static_cast<float>(1 / (1 - std::pow(double{beta_2}, count)));
    rule.newest = static_cast<float>(1 / count);
    rule.is_first = t == 1;
    return rule;
  }
  MIRRORTRAIN_HOST_DEVICE void operator()(float& w, float g, float* slots) const {
    const float before = is_first ? w : slots[0];
    const float x = (kept * w - (1.0f - beta_1) * before) / beta_1;
    slots[1] += (g * g - slots[1]) * (1.0f - beta_2);
    slots[0] = before - rate * g / (std::sqrt(slots[1] * second_correction) + epsilon);
    w = (1.0f - beta_1) * slots[0] + beta_1 * ((1.0f - newest) * x + newest * slots[0]);
  }
  friend bool operator==(const ScheduleFreeAdam&, const ScheduleFreeAdam&) = default;
};

/// Adam whose step is scaled to the size of each variable (You et al. 2019): by the ratio of the norms of weights and
/// direction. A rule that needs norms has `direction` and `rate` instead of operator().
struct Lamb {
  static constexpr auto kSlotNames = std::to_array<std::string_view>({"momentum", "velocity"});
  float beta_1 = 0.9f, beta_2 = 0.999f, epsilon = 1e-7f;
  float rate = 0, first_correction = 1, second_correction = 1;

  MIRRORTRAIN_HOST_DEVICE Lamb at(float learning_rate, long t) const {
    Lamb rule = *this;
    const double count = static_cast<double>(t);
    rule.rate = learning_rate;
    rule.first_correction = static_cast<float>(1 / (1 - std::pow(double{beta_1}, count)));
    rule.second_correction = static_cast<float>(1 / (1 - std::pow(double{beta_2}, count)));
    return rule;
  }
  MIRRORTRAIN_HOST_DEVICE float direction(float g, float* slots) const {
    slots[0] += (g - slots[0]) * (1.0f - beta_1);
    slots[1] += (g * g - slots[1]) * (1.0f - beta_2);
    return slots[0] * first_correction / (std::sqrt(slots[1] * second_correction) + epsilon);
  }
  friend bool operator==(const Lamb&, const Lamb&) = default;
};

}  // namespace mirrortrain::scalar
