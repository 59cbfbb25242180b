#pragma once

#include <vector>

#include "tune/journal.h"

namespace mirrortrain::tune {

/// The result of a trial from those of its folds: their mean, or the first failure; only then may some be null,
/// unknown.
TrialResult result_of_folds(const std::vector<const TrialResult*>& folds);

}  // namespace mirrortrain::tune
