#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "data/dataset.h"

namespace mirrortrain::data {

/// Whether a number is finite, and of the range of float32.
template <class T>
bool fits_float(T value) {
  return std::abs(static_cast<double>(value)) <= static_cast<double>(std::numeric_limits<float>::max());
}

/// How many rows that are not in memory are read at once where all are: about 4 MiB of them.
inline std::int64_t rows_of_block(const Array& array) {
  constexpr std::size_t kBlock = std::size_t{4} << 20;
  return static_cast<std::int64_t>(std::max<std::size_t>(1, kBlock / std::max<std::size_t>(1, array.row_bytes())));
}

/// Calls body(first row, span of elements as T) for rows from `first` on, in order: for all of them at once where they
/// are in memory, else for some megabytes at a time. Ends where `body` returns false.
template <class T, class Body>
void for_each_block(const Array& array, std::int64_t first, std::int64_t rows, const Body& body) {
  const auto width = static_cast<std::size_t>(array.row_elements());
  if (!array.is_by_position()) {
    body(first, std::span<const T>(array.span<T>())
                    .subspan(static_cast<std::size_t>(first) * width, static_cast<std::size_t>(rows) * width));
    return;
  }
  std::vector<std::byte> scratch;
  const std::int64_t together = rows_of_block(array);
  for (const std::int64_t end = first + rows; first < end; first += together) {
    const std::int64_t count = std::min(together, end - first);
    const auto* const elements = reinterpret_cast<const T*>(array.rows_at(first, count, scratch));
    if (!body(first, std::span<const T>(elements, static_cast<std::size_t>(count) * width))) return;
  }
}

/// Calls body(bytes of a row) for rows from `first` on, in order.
template <class Body>
void for_each_row(const Array& array, std::int64_t first, std::int64_t rows, const Body& body) {
  std::vector<std::byte> scratch;
  const std::int64_t together = array.is_by_position() ? rows_of_block(array) : std::max<std::int64_t>(rows, 1);
  for (const std::int64_t end = first + rows; first < end; first += together) {
    const std::int64_t count = std::min(together, end - first);
    const std::byte* row = array.rows_at(first, count, scratch);
    for (std::int64_t i = 0; i < count; ++i, row += array.row_bytes()) body(row);
  }
}

/// A row's elements, read into `scratch` where they are not in memory.
template <class T>
std::span<const T> elements_of_row(const Array& array, std::int64_t row, std::vector<std::byte>& scratch) {
  return {reinterpret_cast<const T*>(array.rows_at(row, 1, scratch)), static_cast<std::size_t>(array.row_elements())};
}

}  // namespace mirrortrain::data
