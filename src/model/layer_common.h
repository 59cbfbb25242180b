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
  std::vector<config::Located<std::string>> inputs;  ///< empty: the previous layer
  bool trainable = true;

  static config::Section<LayerCommon> section() {
    return config::Section<LayerCommon>("The options of every layer.")
        .key("name", &LayerCommon::name, "Name of the layer and prefix of its variables; default: its type, numbered.")
        .key(
            "inputs", &LayerCommon::inputs,
            "Names of the layers, or `input`, whose outputs are the inputs of this layer; default: the previous layer.")
        .key("trainable", &LayerCommon::trainable, "Whether the layer's variables are trained; false freezes them.");
  }
};

}  // namespace mirrortrain
