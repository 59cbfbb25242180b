#pragma once

#include "train/checkpoint/run_folder.h"

namespace mirrortrain {

/// Throws UsageError if the run is a trial of a study, whose journal has its result, or will have: only the `tune` that
/// trains it, this process's parent, may take its folder.
void require_no_trial(const RunFolder& run);

}  // namespace mirrortrain
