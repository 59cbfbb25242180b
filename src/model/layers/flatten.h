#pragma once

#include <span>

#include "model/layer_builder.h"
#include "model/layer_common.h"

namespace mirrortrain::layers {

/// [...] -> [product of all extents].
struct Flatten : LayerCommon {
  static constexpr std::string_view kName = "flatten";

  static config::Section<Flatten> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

}  // namespace mirrortrain::layers
