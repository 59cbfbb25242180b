#pragma once

#include <span>

#include "model/layer_builder.h"
#include "model/layer_common.h"

namespace mirrortrain::layers {

/// The sum of inputs of one shape, element by element.
struct Add : LayerCommon {
  static constexpr std::string_view kName = "add";
  static constexpr bool kMerges = true;

  static config::Section<Add> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

}  // namespace mirrortrain::layers
