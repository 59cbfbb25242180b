#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/sources/data_options.h"

namespace mirrortrain::data {

/// Rows of the whole training data, in ascending order. `validation` is empty where it has a source of its own.
struct SplitRows {
  std::vector<std::int64_t> train, validation;
  bool is_range = true;  ///< whether each part's rows follow each other
};

/// What is known of the training data when it is split.
struct RowsToSplit {
  std::int64_t rows = 0;
  std::string origin;                                  ///< for messages
  bool is_sorted_by_class = false;                     ///< so that validation is drawn unless said otherwise
  std::optional<std::vector<std::int64_t>> classes{};  ///< of each row; nullopt where labels are no classes
};

/// How train and validation share the rows. A drawn part has each class's share of them where labels are classes; each
/// class keeps an example in train where there are as many. Throws KeyError where one of the parts would be empty, or
/// shares by class are asked for of labels that are no classes.
SplitRows split_rows(const RowsToSplit& all, const DataOptions& options, std::uint64_t seed);

}  // namespace mirrortrain::data
