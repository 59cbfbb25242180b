#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "model/activation.h"
#include "model/layer_builder.h"
#include "model/layer_common.h"

namespace mirrortrain::layers {

/// Applies an activation function.
struct Activation : LayerCommon {
  static constexpr std::string_view kName = "activation";
  static constexpr std::string_view kAliases = "act, nonlinearity";
  static constexpr Masking kMasking = Masking::kPasses;
  static constexpr bool kTreatsVectors = true;
  ActivationName activation = ActivationName::kLinear;

  static config::Section<Activation> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// Up to `max_value` where x is above `threshold`, elsewhere negative_slope (x - threshold).
struct Relu : LayerCommon {
  static constexpr std::string_view kName = "relu";
  static constexpr Masking kMasking = Masking::kPasses;
  static constexpr bool kTreatsVectors = true;
  std::optional<float> max_value;
  float negative_slope = 0, threshold = 0;

  static config::Section<Relu> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// x where it is positive, negative_slope x elsewhere.
struct LeakyRelu : LayerCommon {
  static constexpr std::string_view kName = "leaky_relu";
  static constexpr Masking kMasking = Masking::kPasses;
  static constexpr bool kTreatsVectors = true;
  float negative_slope = 0.3f;

  static config::Section<LeakyRelu> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// x where it is positive, alpha (exp(x) - 1) elsewhere.
struct Elu : LayerCommon {
  static constexpr std::string_view kName = "elu";
  static constexpr Masking kMasking = Masking::kPasses;
  static constexpr bool kTreatsVectors = true;
  float alpha = 1;

  static config::Section<Elu> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// Its input.
struct Identity : LayerCommon {
  static constexpr std::string_view kName = "identity";
  static constexpr Masking kMasking = Masking::kPasses;
  static constexpr bool kTreatsVectors = true;

  static config::Section<Identity> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// Its input, whose elements add l1 sum(|x|) + l2 sum(x^2) to an example's loss.
struct ActivityRegularization : LayerCommon {
  static constexpr std::string_view kName = "activity_regularization";
  static constexpr Masking kMasking = Masking::kPasses;
  double l1 = 0, l2 = 0;

  static config::Section<ActivityRegularization> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// exp(x) / sum(exp(x)) over an axis.
struct Softmax : LayerCommon {
  static constexpr std::string_view kName = "softmax";
  static constexpr Masking kMasking = Masking::kOwn;
  std::int64_t axis = -1;

  static config::Section<Softmax> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

}  // namespace mirrortrain::layers
