#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "config/section.h"
#include "data/dataset.h"
#include "data/reading/gather.h"

namespace mirrortrain::data {

/// The section `data.sequences`.
struct Sequences {
  config::Located<std::vector<std::int64_t>> bucket_boundaries;
  bool group_by_length = false;
  static config::Section<Sequences> section();
};

/// Buckets of the sequences of a data set's one input by length: up to the last number that is not 0, which is the
/// padding at the end.
class LengthBuckets {
 public:
  /// A single bucket.
  LengthBuckets() = default;
  /// One bucket for the sequences of up to each number of time steps, ascending, and one for longer ones. Throws Error
  /// if sequences are padded at the beginning, so that none is short.
  LengthBuckets(const Dataset& dataset, const RowConverter& to_float32, std::vector<std::int64_t> boundaries);

  const std::vector<std::int64_t>& boundaries() const { return boundaries_; }
  /// The bucket of each row, counted from 0.
  const std::vector<int>& of_rows() const { return of_rows_; }
  /// The smallest boundary that is at least the length of all sequences of these rows; 0 if one exceeds all boundaries.
  std::int64_t length_of(std::span<const std::int64_t> rows) const;

 private:
  std::vector<std::int64_t> boundaries_;
  std::vector<int> of_rows_;
};

}  // namespace mirrortrain::data
