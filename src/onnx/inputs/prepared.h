#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "onnx/builder.h"

namespace mirrortrain::onnx {

/// An extent of examples that is not known until the model runs.
inline constexpr std::int64_t kAnyExtent = -1;

/// An input's examples on their way to the layers: a value [rows, dims...], float32.
struct Prepared {
  std::string value;
  Ints dims;  ///< per row; kAnyExtent for the height and width of pictures of any size
};

}  // namespace mirrortrain::onnx
