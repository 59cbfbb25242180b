#pragma once

#include <cstdint>
#include <optional>

#include "base/shape.h"

namespace mirrortrain {

/// What is known of the data's labels, after preprocessing, before the model is built.
struct LabelInfo {
  Shape shape;                          ///< of one example's label; a number has the shape []
  bool whole_numbers = true;            ///< every label is a whole number, whatever type it is stored in
  std::optional<std::int64_t> classes;  ///< labels are class numbers 0 .. classes - 1, where that is known
};

}  // namespace mirrortrain
