#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "survey/row_statistics.h"

namespace mirrortrain::survey {

/// Examples of one set that have the features of examples of another.
struct Duplicates {
  std::int64_t count = 0;                                       ///< of the second set's examples
  std::vector<std::pair<std::int64_t, std::int64_t>> examples;  ///< a few: a row of the first, and one of the second
};

/// Sorts the marks for the functions below.
void sort_marks(std::vector<ExampleMark>& marks);
/// Both sorted.
Duplicates duplicates_between(const std::vector<ExampleMark>& first, const std::vector<ExampleMark>& second);
/// How many of sorted marks are those of an earlier example, with a few of them.
Duplicates duplicates_in(const std::vector<ExampleMark>& marks);

}  // namespace mirrortrain::survey
