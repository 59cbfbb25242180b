#pragma once

#include <cstdint>
#include <vector>

#include "data/bad_examples.h"
#include "data/dataset.h"
#include "data/input_spec.h"

namespace mirrortrain::data {

/// What examples have to be beside readable.
struct Wanted {
  const InputSpec* spec = nullptr;  ///< null: whatever they are
  std::int64_t one_hot_depth = 0;
};

/// All rows but these, which are ascending.
std::vector<std::int64_t> rows_but(std::int64_t rows, const std::vector<std::int64_t>& bad);

/// The rows of labels that are none that the model takes, each added to `bad`.
std::vector<std::int64_t> rows_with_wrong_labels(const Array& labels, const Wanted& wanted, BadExamples& bad);

/// The data set; where bad examples are left out, without those that have numbers that are not finite, labels or
/// features that the model does not take, or pictures that do not decode. Throws Error where none is left, and what
/// Dataset's constructor does.
Dataset usable(Examples examples, const Wanted& wanted, BadExamples bad);

}  // namespace mirrortrain::data
