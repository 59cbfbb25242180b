#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "base/host_device.h"

// Rules whose step of a variable follows from the whole of it. A graph makes a direction of the variable's gradient,
// with the state that it keeps (model/optimizers/direction_graph.h); what is left for each weight is a step along it.
// See kernels/scalar/update_rules.h for a rule's interface.
namespace mirrortrain::scalar {

/// Adam's second moment as the product of its means over rows and columns (Shazeer, Stern 2018).
struct Adafactor {
  static constexpr std::array<std::string_view, 0> kSlotNames{};
  static constexpr bool kTakesDirections = true;
  float beta_2_decay = -0.8f, epsilon_1 = 1e-30f, epsilon_2 = 1e-3f, clip_threshold = 1;
  bool relative_step = true;  ///< the rate is at most 1 / sqrt(t)
  float rate = 0;

  MIRRORTRAIN_HOST_DEVICE Adafactor at(float learning_rate, long t) const {
    Adafactor rule = *this;
    const auto limit = static_cast<float>(1 / std::sqrt(static_cast<double>(t)));
    rule.rate = relative_step && limit < learning_rate ? limit : learning_rate;
    return rule;
  }
  MIRRORTRAIN_HOST_DEVICE void operator()(float& w, float direction, float*) const { w -= rate * direction; }
  friend bool operator==(const Adafactor&, const Adafactor&) = default;
};

/// Steps along the orthogonal matrix that is nearest to the momentum, which Newton and Schulz's iteration approaches
/// (Jordan et al. 2024). With `rms_rate` they are scaled as Adam's are (Liu et al. 2025); 0: they are not.
struct Muon {
  static constexpr std::array<std::string_view, 0> kSlotNames{};
  static constexpr bool kTakesDirections = true;
  float momentum = 0.95f;
  bool nesterov = true;
  float a = 3.4445f, b = -4.775f, c = 2.0315f;  ///< of the polynomial
  std::int64_t ns_steps = 5;
  float rms_rate = 0.2f;
  float rate = 0;

  MIRRORTRAIN_HOST_DEVICE Muon at(float learning_rate, long) const {
    Muon rule = *this;
    rule.rate = learning_rate;
    return rule;
  }
  MIRRORTRAIN_HOST_DEVICE void operator()(float& w, float direction, float*) const { w -= rate * direction; }
  friend bool operator==(const Muon&, const Muon&) = default;
};

}  // namespace mirrortrain::scalar
