#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

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

/// The element that is stored as memory holds `dtype`.
Element element_in_memory(DType dtype);

/// Whether memory holds the elements as the file does.
bool is_as_in_memory(const Element& element);

/// Converts elements as a file stores them to `to`, as memory holds them. `name`: of the file. Throws Error for uint64
/// numbers beyond int64.
void decode_elements(const Element& element, const std::byte* from, std::byte* to, std::size_t count,
                     const std::string& name);

/// Reads the elements of `shape` from `input`, up to its end. Memory is allocated only after the announced size was
/// checked against the file's. Throws Error for fewer or more bytes than announced and for uint64 numbers beyond int64.
Array read_elements(Input& input, const Element& element, Shape shape);
/// The same into memory of their size.
void read_elements(Input& input, const Element& element, const Shape& shape, std::byte* to);

}  // namespace mirrortrain::data
