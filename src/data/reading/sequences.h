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

/// A data set's sequences by their length: up to and with the last number that is not 0, which pads them at the end.
class LengthBuckets {
 public:
  /// One for all.
  LengthBuckets() = default;
  /// A bucket for the sequences of up to so many steps, ascending, each, and one for longer ones. Throws Error where
  /// sequences are padded at their beginning, so that none is short.
  LengthBuckets(const Dataset& dataset, const RowConverter& to_float32, std::vector<std::int64_t> boundaries);

  const std::vector<std::int64_t>& boundaries() const { return boundaries_; }
  /// Of each row, counted from 0.
  const std::vector<int>& of_rows() const { return of_rows_; }
  /// The boundary that no sequence of these rows is longer than; 0 where one is longer than all.
  std::int64_t length_of(std::span<const std::int64_t> rows) const;

 private:
  std::vector<std::int64_t> boundaries_;
  std::vector<int> of_rows_;
};

}  // namespace mirrortrain::data
