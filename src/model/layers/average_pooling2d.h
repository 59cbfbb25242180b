#pragma once

#include <span>

#include "model/layer_builder.h"
#include "model/pool2d_options.h"

namespace mirrortrain::layers {

/// [height, width, channels] -> [height', width', channels]: the mean of each window; padding does not count.
struct AveragePooling2d : Pool2dOptions {
  static constexpr std::string_view kName = "average_pooling2d";

  static config::Section<AveragePooling2d> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

}  // namespace mirrortrain::layers
