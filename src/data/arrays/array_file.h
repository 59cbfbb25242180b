#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/shape.h"
#include "data/arrays/element.h"
#include "data/dataset.h"
#include "data/files/input.h"

namespace mirrortrain::data {

/// What the header of an array in a file says of the elements behind it.
struct ArrayHeader {
  Element element;
  bool fortran_order = false;
  Shape shape;
};

/// An array in a file.
struct ArrayFile {
  std::string path;
  std::string name;                                ///< of the array in messages
  std::function<std::unique_ptr<Input>()> open;    ///< from the file's, or the archive member's, first byte on
  std::function<ArrayHeader(Input&)> read_header;  ///< which leaves the input at the first element
};

/// The array, of which only the header is read; its rows are read by position. Throws Error for a header that is wrong,
/// or that announces more than the file can hold.
Array open_array(ArrayFile file);

/// The array that follows a header, with its elements.
Array read_array(Input& input, ArrayHeader header);

}  // namespace mirrortrain::data
