#pragma once

#include <string>

#include "config/errors.h"
#include "data/dataset.h"
#include "data/tables/adapted.h"
#include "train/session/check_configuration.h"

namespace mirrortrain {

/// The data of a run as its warnings look at them; `validation` and `test` may be null.
struct SplitsToCheck {
  const data::Dataset *train = nullptr, *validation = nullptr, *test = nullptr;
  const data::Adapted* adapted = nullptr;  ///< what the training data taught; may be null
};

/// Adds warnings of what can be trained but is hardly meant: a batch larger than the data, a validation split of a few
/// examples, splits of one class alone, a column that counts the rows, labels that are all the same, look like class
/// numbers or lie outside what the last layer can give, features of very different or large scale that nothing brings
/// to one.
void warn_of_data(const CheckedConfiguration& checked, const SplitsToCheck& splits, config::Errors& errors);

/// What to say of features that are around 1 already and that rescaling makes nearly 0; "" of others.
std::string rescaled_twice(const CheckedConfiguration& checked, const data::Dataset& examples);

}  // namespace mirrortrain
