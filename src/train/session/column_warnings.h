#pragma once

#include "config/errors.h"
#include "train/session/check_configuration.h"
#include "train/session/data_warnings.h"

namespace mirrortrain {

/// Warns, at data.train, of columns that are hardly meant as features: without a name, or numbering the rows; of those
/// whose numbers are one in float32 once they are preprocessed; of those that are the same in all rows under an adapted
/// normalization, which takes every other number for an extreme one; and of those that say the label alone. Also of
/// numbers that stand for missing values, and of classes and words that differ in case or spaces alone.
void warn_of_columns(const CheckedConfiguration& checked, const SplitsToCheck& splits, config::Errors& errors);

}  // namespace mirrortrain
