#pragma once

#include <optional>
#include <span>
#include <string>

#include "model/activation.h"
#include "model/initializers.h"
#include "model/layer_builder.h"
#include "model/layer_common.h"
#include "model/layers/lora.h"
#include "model/regularizer.h"

namespace mirrortrain::layers {

/// [..., in] -> [..., units]; variables kernel [in, units] and bias [units]. If tied to an embedding, the kernel is its
/// table [units, in] transposed and not a variable of this layer. With lora_rank: lora_kernel_a and lora_kernel_b, too.
struct Dense : Lora, LayerCommon {
  static constexpr std::string_view kName = "dense";
  static constexpr std::string_view kAliases = "linear, fc, fully_connected";
  static constexpr Masking kMasking = Masking::kPasses;
  static constexpr bool kTreatsVectors = true;
  std::int64_t units = 1;
  ActivationName activation = ActivationName::kLinear;
  bool use_bias = true;
  std::optional<std::string> tied_to;
  Initializer kernel_initializer = initializers::GlorotUniform{};
  Initializer bias_initializer = initializers::Zeros{};
  std::optional<Regularizer> kernel_regularizer, bias_regularizer;
  std::optional<Constraint> kernel_constraint, bias_constraint;

  static config::Section<Dense> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;

 private:
  ValueId multiply_by_table(LayerBuilder& builder, ValueId x) const;
};

}  // namespace mirrortrain::layers
