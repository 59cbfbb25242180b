#pragma once

#include <span>
#include <string_view>

#include "model/plain_layers.h"

namespace mirrortrain::layers {

/// A layer applied to each step of [steps, ...] by itself, with the same weights. Variables: those of the layer. The
/// output has the input's mask, which the layer does not see.
struct TimeDistributed : LayerCommon {
  static constexpr std::string_view kName = "time_distributed";
  static constexpr bool kOptionsSetRank = true;
  static constexpr Masking kMasking = Masking::kPasses;
  PlainLayer layer;

  static config::Section<TimeDistributed> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

}  // namespace mirrortrain::layers
