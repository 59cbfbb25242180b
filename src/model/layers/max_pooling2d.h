#pragma once

#include <span>

#include "model/layer_builder.h"
#include "model/pool2d_options.h"

namespace mirrortrain::layers {

/// [height, width, channels] -> [height', width', channels]: the maximum of each window.
struct MaxPooling2d : Pool2dOptions {
  static constexpr std::string_view kName = "max_pooling2d";

  static config::Section<MaxPooling2d> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

}  // namespace mirrortrain::layers
