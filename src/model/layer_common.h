#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/section.h"

namespace mirrortrain {

/// The options that every layer has. A layer derives from it and ends its section with `.include<LayerCommon>()`.
struct LayerCommon {
  static constexpr bool kMerges = false;  ///< whether the layer takes several inputs

  config::Located<std::optional<std::string>> name;
  std::vector<config::Located<std::string>> inputs;  ///< empty: the layer before
  bool trainable = true;

  static config::Section<LayerCommon> section() {
    return config::Section<LayerCommon>("What every layer has.")
        .key("name", &LayerCommon::name, "Names the layer and its variables; default: its type, counted.")
        .key("inputs", &LayerCommon::inputs,
             "Names of the earlier layers, or `input`, that feed this one; default: the layer before.")
        .key("trainable", &LayerCommon::trainable, "false freezes the layer's variables.");
  }
};

}  // namespace mirrortrain
