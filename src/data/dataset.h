#pragma once

#include <cstdint>
#include <memory>

#include "data/array.h"

namespace mirrortrain::data {

/// What a reader gives: arrays of the same length.
struct Examples {
  Array features, labels;
};

/// Examples in memory, or a range of them: views share the arrays.
class Dataset {
 public:
  /// Throws Error where features and labels differ in length, where there is none, and for features that are not
  /// finite.
  explicit Dataset(Examples examples);

  std::int64_t rows() const { return rows_; }
  /// Rows first .. first + rows - 1 of this one. No copy.
  Dataset view(std::int64_t first, std::int64_t rows) const;

  /// The whole arrays: row r of this data set is their row first_row() + r.
  const Array& features() const { return examples_->features; }
  const Array& labels() const { return examples_->labels; }
  std::int64_t first_row() const { return first_row_; }

 private:
  std::shared_ptr<const Examples> examples_;
  std::int64_t first_row_ = 0, rows_ = 0;
};

}  // namespace mirrortrain::data
