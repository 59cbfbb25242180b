#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "config/section.h"
#include "model/initial_weights.h"
#include "model/layer_builder.h"
#include "model/layers.h"

namespace mirrortrain {

/// The section `model`.
struct ModelOptions {
  config::Located<std::vector<std::int64_t>> input_shape;
  std::optional<InitialWeights> initial_weights;
  config::Value blocks;  ///< null: expand_blocks wrote them out
  std::vector<config::Located<Layer>> layers;

  static config::Section<ModelOptions> section();
};

}  // namespace mirrortrain
