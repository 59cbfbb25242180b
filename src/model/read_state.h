#pragma once

#include <cstdint>
#include <string_view>

#include "config/errors.h"

namespace mirrortrain {

/// How much of a list's item, like a layer, could be read.
enum class ReadState : std::uint8_t {
  kWhole,
  kInPart,  ///< its type is known, but an option is wrong
  kNot,     ///< its type is not known
};

/// What `errors` tells about the item with this path: "model.layers[3].conv2d".
inline ReadState read_state(std::string_view path, const config::Errors& errors) {
  if (errors.concern(path)) return ReadState::kInPart;
  return errors.concern(path.substr(0, path.rfind(']') + 1)) ? ReadState::kNot : ReadState::kWhole;
}

}  // namespace mirrortrain
