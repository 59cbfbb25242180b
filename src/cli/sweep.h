#pragma once

#include <string>
#include <vector>

#include "train/fit_run.h"

namespace mirrortrain::cli {

/// What `fit --sweep` is asked for.
struct SweepArguments {
  std::vector<std::string> sweeps;  ///< KEY=A,B,C each
  int side_by_side = 1;             ///< runs at a time
};

/// The values of the sweeps in every combination, as `--set` takes them: the last sweep's change first. Throws
/// UsageError.
std::vector<std::vector<std::string>> combinations(const std::vector<std::string>& sweeps);

/// Trains one run for each combination, each in a process of its own, in runs/NAME-sweep/, and prints their table.
/// Returns the exit code: the first that is not 0, after all other runs were tried; a stop signal ends the sweep.
int sweep(const FitArguments& fit, const SweepArguments& arguments);

}  // namespace mirrortrain::cli
