#pragma once

#include <span>

#include "report/event.h"

namespace mirrortrain::report {

// Of the same scores of several runs, as those of a trial's folds; there has to be one.

/// The mean of each.
Scores mean_of(std::span<const Scores> all);
/// Of each, the root of the mean square of its differences from its mean, as numpy's std.
Scores deviation_of(std::span<const Scores> all);

}  // namespace mirrortrain::report
