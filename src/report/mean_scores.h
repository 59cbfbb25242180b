#pragma once

#include <span>

#include "report/event.h"

namespace mirrortrain::report {

// Of several runs, as those of a trial's folds; there has to be one.

double mean_of(std::span<const double> numbers);
/// The root of the mean square of the differences from the mean, as numpy's std.
double deviation_of(std::span<const double> numbers);

/// The same of each score; all have the same ones.
Scores mean_of(std::span<const Scores> all);
Scores deviation_of(std::span<const Scores> all);

}  // namespace mirrortrain::report
