#pragma once

#include <cstdint>
#include <vector>

#include "data/bad_examples.h"
#include "data/dataset.h"
#include "data/input_spec.h"

namespace mirrortrain::data {

/// Requirements on examples in addition to being readable.
struct Wanted {
  const InputSpec* spec = nullptr;  ///< null: no requirements
  std::int64_t one_hot_depth = 0;
};

/// All rows except these, which are ascending.
std::vector<std::int64_t> rows_but(std::int64_t rows, const std::vector<std::int64_t>& bad);

/// The rows of labels that the model does not accept, each added to `bad`.
std::vector<std::int64_t> rows_with_wrong_labels(const Array& labels, const Wanted& wanted, BadExamples& bad);

/// The data set; if bad examples are left out, without those with non-finite numbers, with labels or features that the
/// model does not accept, or with pictures that cannot be decoded. Throws Error if none is left, and the exceptions of
/// Dataset's constructor.
Dataset usable(Examples examples, const Wanted& wanted, BadExamples bad);

}  // namespace mirrortrain::data
