#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "data/dataset.h"

namespace mirrortrain::data {

/// The first rows of a data set, as many as some memory holds, once they have been read: for later epochs, in which
/// they are the same. A shuffle visits every row as often, so that none is better to keep than others, and none gives
/// its place to another. Thread-safe.
class KeptRows {
 public:
  /// Memory that is not written costs nothing.
  KeptRows(std::int64_t rows, std::size_t row_elements, std::size_t memory);

  /// How many rows there is memory for.
  std::int64_t capacity() const { return capacity_; }
  /// The bytes of all of them.
  std::size_t bytes() const;
  /// A row that is kept; nullopt for others.
  std::optional<std::span<const float>> find(std::int64_t row) const;
  /// Keeps a row, if it is one of those, and no thread has done so before.
  void keep(std::int64_t row, std::span<const float> elements);

 private:
  enum class State : std::uint8_t { kUnknown, kBeingWritten, kKept };
  std::size_t row_elements_;
  std::int64_t capacity_;
  Bytes elements_;
  std::unique_ptr<std::atomic<State>[]> states_;
};

}  // namespace mirrortrain::data
