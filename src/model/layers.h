#pragma once

#include <array>
#include <string_view>
#include <variant>

#include "model/layers/activation.h"
#include "model/layers/add.h"
#include "model/layers/batch_normalization.h"
#include "model/layers/conv2d.h"
#include "model/layers/dense.h"
#include "model/layers/dropout.h"
#include "model/layers/pooling2d.h"
#include "model/layers/reshape.h"

namespace mirrortrain {

/// The list of layers. One more: a file in model/layers and a line here.
using Layer = std::variant<layers::Dense, layers::Conv2d, layers::MaxPooling2d, layers::AveragePooling2d,
                           layers::GlobalAveragePooling2d, layers::Flatten, layers::Reshape, layers::Activation,
                           layers::Softmax, layers::Dropout, layers::BatchNormalization, layers::Add>;

}  // namespace mirrortrain

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::Layer> {
  static constexpr std::string_view noun = "a layer";
  static constexpr bool set_keeps_name = true;
  static constexpr auto planned =
      std::to_array<std::string_view>({"depthwise_conv2d", "global_max_pooling2d", "zero_padding2d",
                                       "layer_normalization", "embedding", "multiply", "concatenate"});
};
