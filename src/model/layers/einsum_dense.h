#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/activation.h"
#include "model/constraint.h"
#include "model/initializers.h"
#include "model/layer_builder.h"
#include "model/layer_common.h"
#include "model/layers/lora.h"
#include "model/regularizer.h"

namespace mirrortrain::layers {

/// The products of an input and a kernel, added along the axes that an equation names: "abc,cd->abd" is a dense layer.
/// The first axis of input and output is the batch. Variables: kernel, of the equation's axes, and bias; with
/// lora_rank lora_kernel_a and lora_kernel_b, too.
struct EinsumDense : Lora, LayerCommon {
  static constexpr std::string_view kName = "einsum_dense";
  static constexpr std::string_view kAliases = "einsum";
  static constexpr bool kOptionsSetRank = true;
  std::string equation;
  std::variant<std::int64_t, std::vector<std::optional<std::int64_t>>> output_shape = std::int64_t{1};
  ActivationName activation = ActivationName::kLinear;
  std::optional<std::string> bias_axes;
  Initializer kernel_initializer = initializers::GlorotUniform{};
  Initializer bias_initializer = initializers::Zeros{};
  std::optional<Regularizer> kernel_regularizer, bias_regularizer;
  std::optional<Constraint> kernel_constraint, bias_constraint;

  static config::Section<EinsumDense> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

}  // namespace mirrortrain::layers

template <>
struct mirrortrain::config::ChoiceTag<std::variant<std::int64_t, std::vector<std::optional<std::int64_t>>>> {
  static constexpr std::string_view noun = "a number or a list of numbers, null for the input's";
};
