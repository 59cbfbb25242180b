#pragma once

#include <span>

#include "model/layer_builder.h"
#include "model/layer_common.h"

namespace mirrortrain::layers {

/// [height, width, channels] -> [channels]: the mean over height and width.
struct GlobalAveragePooling2d : LayerCommon {
  static constexpr std::string_view kName = "global_average_pooling2d";

  static config::Section<GlobalAveragePooling2d> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

}  // namespace mirrortrain::layers
