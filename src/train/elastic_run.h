#pragma once

#include "train/fit_run.h"

namespace mirrortrain {

/// `fit`: one run, or, with strategy.elastic, a sequence of generations of tasks, each of which resumes from its
/// predecessor. Returns the exit code. Throws the same as FitRun::run.
int fit(FitArguments arguments);

}  // namespace mirrortrain
