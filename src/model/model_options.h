#pragma once

#include <cstdint>
#include <optional>
#include <string>
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
  config::Located<std::vector<std::string>> freeze;  ///< globs of layers
  config::Value blocks;                              ///< null after expand_blocks
  std::vector<config::Located<Layer>> layers;

  /// Whether a layer of this name is frozen regardless of its own options.
  bool freezes(const std::string& layer) const;

  static config::Section<ModelOptions> section();
};

/// Adds an error for each glob of `freeze` that matches none of the layers.
void check_freeze(const ModelOptions& options, const std::vector<std::string>& layers, config::Errors& errors);

}  // namespace mirrortrain
