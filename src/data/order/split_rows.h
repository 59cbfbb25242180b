#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/sources/data_options.h"

namespace mirrortrain::data {

/// Rows of the whole training data, in ascending order. `validation` is empty if it has its own source.
struct SplitRows {
  std::vector<std::int64_t> train, validation;
  bool is_range = true;  ///< whether each part's rows are contiguous
};

/// Properties of the training data for splitting.
struct RowsToSplit {
  std::int64_t rows = 0;
  std::string origin;                                  ///< for messages
  bool is_sorted_by_class = false;                     ///< then validation is drawn randomly by default
  std::optional<std::vector<std::int64_t>> classes{};  ///< of each row; nullopt if labels are not classes
};

/// Splits the rows between train and validation. A randomly drawn part is stratified if labels are classes; each class
/// keeps an example in train if it has enough. Throws KeyError if one of the parts would be empty, or if stratification
/// is requested for labels that are not classes. Folds together have every row once; each class's numbers in two folds
/// differ by one at most where they are stratified.
SplitRows split_rows(const RowsToSplit& all, const DataOptions& options, std::uint64_t seed);

}  // namespace mirrortrain::data
