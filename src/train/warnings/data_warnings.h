#pragma once

#include "config/errors.h"
#include "train/configuration/checked_configuration.h"
#include "train/warnings/splits_to_check.h"

namespace mirrortrain {

/// Adds warnings of valid but probably unintended data: a batch larger than the data, a validation split of a few
/// examples, splits of a single class, a column that counts the rows, labels that are all equal, look like class
/// numbers or are outside the last layer's range, features of very different or large scale that nothing normalizes.
void warn_of_data(const CheckedConfiguration& checked, const SplitsToCheck& splits, config::Errors& errors);

}  // namespace mirrortrain
