#pragma once

#include <string>
#include <string_view>

#include "base/shape.h"
#include "data/element.h"

namespace mirrortrain::data {

/// What the text at the beginning of an npy file says.
struct NpyHeader {
  Element element;
  bool fortran_order = false;
  Shape shape;
};

/// Reads {'descr': '<f4', 'fortran_order': False, 'shape': (60, 4), }. Throws Error, beginning with `name`, for
/// anything else, and for element types that are no bool, integer or float.
NpyHeader parse_npy_header(std::string_view text, const std::string& name);

}  // namespace mirrortrain::data
