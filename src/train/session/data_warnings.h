#pragma once

#include "config/errors.h"
#include "data/dataset.h"
#include "data/tables/adapted.h"
#include "train/session/check_configuration.h"

namespace mirrortrain {

/// The data of a run for its warnings; `validation` and `test` may be null.
struct SplitsToCheck {
  const data::Dataset *train = nullptr, *validation = nullptr, *test = nullptr;
  const data::Adapted* adapted = nullptr;  ///< values adapted to the training data; may be null
};

/// Adds warnings of valid but probably unintended data: a batch larger than the data, a validation split of a few
/// examples, splits of a single class, a column that counts the rows, labels that are all equal, look like class
/// numbers or are outside the last layer's range, features of very different or large scale that nothing normalizes.
void warn_of_data(const CheckedConfiguration& checked, const SplitsToCheck& splits, config::Errors& errors);

}  // namespace mirrortrain
