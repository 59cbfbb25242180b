#pragma once

#include <array>
#include <span>

#include "model/activation.h"
#include "model/layer_builder.h"
#include "model/layer_common.h"

namespace mirrortrain::layers {

/// Applies an activation function.
struct Activation : LayerCommon {
  static constexpr std::string_view kName = "activation";
  static constexpr std::string_view kAliases = "act, nonlinearity";
  static constexpr auto kAdvice = std::to_array<config::Advice>(
      {{"leaky_relu",
        "write - activation: {activation: leaky_relu}, whose slope below 0 is 0.2; another slope is - "
        "expression: {formula: \"maximum(x, 0.3 * x)\"}"}});
  static constexpr Masking kMasking = Masking::kPasses;
  ActivationName activation = ActivationName::kLinear;

  static config::Section<Activation> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// exp(x) / sum(exp(x)) over the last axis.
struct Softmax : LayerCommon {
  static constexpr std::string_view kName = "softmax";
  static constexpr Masking kMasking = Masking::kOwn;

  static config::Section<Softmax> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

}  // namespace mirrortrain::layers
