#pragma once

#include <array>
#include <span>

#include "model/activation.h"
#include "model/initializers.h"
#include "model/layer_builder.h"
#include "model/layer_common.h"
#include "model/padding.h"
#include "model/regularizer.h"

namespace mirrortrain::layers {

/// [height, width, in] -> [height', width', filters]; variables kernel [height, width, in / groups, filters] and bias.
struct Conv2d : LayerCommon {
  static constexpr std::string_view kName = "conv2d";
  std::int64_t filters = 1;
  std::array<std::int64_t, 2> kernel_size{1, 1};
  std::array<std::int64_t, 2> strides{1, 1};
  ops::Padding padding = ops::Padding::kValid;
  std::array<std::int64_t, 2> dilation_rate{1, 1};
  std::int64_t groups = 1;
  ActivationName activation = ActivationName::kLinear;
  bool use_bias = true;
  Initializer kernel_initializer = initializers::GlorotUniform{};
  Initializer bias_initializer = initializers::Zeros{};
  std::optional<Regularizer> kernel_regularizer, bias_regularizer;

  static config::Section<Conv2d> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

}  // namespace mirrortrain::layers
