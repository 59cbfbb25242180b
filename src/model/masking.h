#pragma once

#include <cstdint>

namespace mirrortrain {

/// How a layer handles its input's mask (graph/ops/mask.h), as in Keras.
enum class Masking : std::uint8_t {
  kEnds,    ///< the layer does not support masks: its output has none, and the user is warned
  kPasses,  ///< the output has the input's mask
  kOwn,     ///< `build` uses the masks and sets the output's
};

}  // namespace mirrortrain
