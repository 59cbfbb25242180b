#pragma once

#include "train/fit_run.h"

namespace mirrortrain {

/// `fit`: one run, or, with strategy.elastic, one generation of tasks after another, each of which resumes where the
/// last one left off. Returns the exit code. Throws what FitRun::run does.
int fit(FitArguments arguments);

}  // namespace mirrortrain
