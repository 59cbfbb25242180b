#pragma once

#include "config/errors.h"
#include "data/dataset.h"
#include "train/configuration/checked_configuration.h"

namespace mirrortrain {

/// Warns of transforms of pictures whose `value_range` is not the range of the pixels that reach them, as where they
/// follow a rescaling: those make noise of them. Looks at some training examples. An error where pixels are up to 1 and
/// the range is the default one of bytes.
void check_value_ranges(const CheckedConfiguration& checked, const data::Dataset& train, config::Errors& errors);

/// The same errors, thrown before training as a UsageError.
void require_value_ranges(const CheckedConfiguration& checked, const data::Dataset& train);

}  // namespace mirrortrain
