#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/pictures/picture_steps.h"
#include "onnx/builder.h"

namespace mirrortrain::onnx {

using data::kAnyExtent;

/// An input's examples as the layers get them: a value [rows, dims...], float32.
struct Prepared {
  std::string value;
  Ints dims;  ///< per row; kAnyExtent for the height and width of pictures of any size
};

}  // namespace mirrortrain::onnx
