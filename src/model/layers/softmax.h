#pragma once

#include <span>

#include "model/layer_builder.h"
#include "model/layer_common.h"

namespace mirrortrain::layers {

/// exp(x) / sum(exp(x)) over the last axis.
struct Softmax : LayerCommon {
  static constexpr std::string_view kName = "softmax";

  static config::Section<Softmax> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

}  // namespace mirrortrain::layers
