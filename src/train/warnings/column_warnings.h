#pragma once

#include "config/errors.h"
#include "train/configuration/checked_configuration.h"
#include "train/warnings/splits_to_check.h"

namespace mirrortrain {

/// Warns, at data.train, of columns that are probably not meant as features: without a name, or numbering the rows; of
/// columns whose values become equal in float32 by preprocessing; of columns that are constant with an adapted
/// normalization, for which any other number is extreme; and of columns that alone determine the label. Also of numbers
/// that represent missing values, and of classes and words that differ only in case or spaces.
void warn_of_columns(const CheckedConfiguration& checked, const SplitsToCheck& splits, config::Errors& errors);

}  // namespace mirrortrain
