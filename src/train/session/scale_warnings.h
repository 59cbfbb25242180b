#pragma once

#include <string>

#include "config/errors.h"
#include "data/dataset.h"
#include "train/session/check_configuration.h"
#include "train/session/data_warnings.h"

namespace mirrortrain {

/// Warns of features of very different or large scale that no transform or layer normalizes, of equal features, and of
/// splits whose features are on another scale than the training data's.
void warn_of_scales(const CheckedConfiguration& checked, const SplitsToCheck& splits, config::Errors& errors);

/// A remark on features that are around 1 already and that rescaling makes nearly 0; "" for others.
std::string rescaled_twice(const CheckedConfiguration& checked, const data::Dataset& examples);

}  // namespace mirrortrain
