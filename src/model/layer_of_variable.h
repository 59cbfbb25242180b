#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "model/model.h"

namespace mirrortrain {

/// The number of the layer whose name, the longest that fits, begins the variable's: of "encoder/dense/kernel" that of
/// "encoder/dense". nullopt if none does.
inline std::optional<std::size_t> layer_of_variable(const Model& model, std::string_view variable) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const std::string_view name = model.layers[i].name;
    if (!variable.starts_with(name) || !variable.substr(name.size()).starts_with('/')) continue;
    if (!found || name.size() >= model.layers[*found].name.size()) found = i;
  }
  return found;
}

}  // namespace mirrortrain
