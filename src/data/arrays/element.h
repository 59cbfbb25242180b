#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "data/dataset.h"
#include "data/files/input.h"

namespace mirrortrain::data {

/// How a file stores one number.
struct Element {
  enum class Kind { kBool, kUnsigned, kSigned, kFloat };
  Kind kind = Kind::kUnsigned;
  std::size_t bytes = 1;
  bool big_endian = false;

  /// The type that stores it in memory: its own, or the next wider type of DType.
  DType dtype() const;
};

/// Reads the elements of `shape` from `input`, up to its end. Memory is allocated only after the announced size was
/// checked against the file's. Throws Error for fewer or more bytes than announced and for uint64 numbers beyond int64.
Array read_elements(Input& input, const Element& element, Shape shape);

}  // namespace mirrortrain::data
