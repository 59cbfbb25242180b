#pragma once

#include "config/errors.h"
#include "train/configuration/checked_configuration.h"
#include "train/warnings/splits_to_check.h"

namespace mirrortrain {

/// Warns of features of very different or large scale that no transform or layer normalizes, of equal features, and of
/// splits whose features are on another scale than the training data's.
void warn_of_scales(const CheckedConfiguration& checked, const SplitsToCheck& splits, config::Errors& errors);

}  // namespace mirrortrain
