#pragma once

#include <span>

#include "model/layer_builder.h"
#include "model/layer_common.h"

namespace mirrortrain::layers {

/// In training drops elements with probability `rate` and scales the others by 1 / (1 - rate); in evaluation does
/// nothing.
struct Dropout : LayerCommon {
  static constexpr std::string_view kName = "dropout";
  static constexpr std::string_view kAliases = "dropout2d";
  static constexpr Masking kMasking = Masking::kPasses;
  float rate = 0;

  static config::Section<Dropout> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

}  // namespace mirrortrain::layers
