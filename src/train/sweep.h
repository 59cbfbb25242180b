#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "train/fit.h"

namespace mirrortrain {

/// Arguments of `fit --sweep`.
struct SweepArguments {
  std::vector<std::string> sweeps;  ///< KEY=A,B,C each
  int side_by_side = 1;             ///< runs at a time
  /// As FitArguments::catch_stop_signals, but without a message on the terminal: the runs print it.
  const std::atomic<int>& (*catch_stop_signals)() = nullptr;
};

/// Trains one run for each combination, each in its own process, in runs/NAME-sweep/, and prints their table. Returns
/// the exit code: the first that is not 0, after all other runs were tried, or that of a stop signal, which ends the
/// sweep.
int sweep(const FitArguments& fit, const SweepArguments& arguments);

}  // namespace mirrortrain
