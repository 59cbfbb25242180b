#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "train/session/run.h"

namespace mirrortrain {

/// How far a step on several replicas is from the same step on one.
struct StepDifference {
  double loss = 0;     ///< |difference| / |loss on one replica|
  double weights = 0;  ///< after the step: the largest |difference| in a variable / the largest element of the
                       ///< variable, or of a statistic a thousandth of the largest weight where that is more
};

/// The steps of a run on one number of replicas.
struct VerifiedRun {
  int replicas = 1;
  std::vector<StepDifference> steps;
};

struct Verification {
  std::vector<double> losses;  ///< on one replica, of each step
  /// Variables whose gradient is 0 but for rounding, as a bias that a normalization takes out again at once. They are
  /// held at their first values: an optimizer like Adam makes steps even of rounding, and nothing depends on them.
  std::vector<std::string> left_out;
  std::vector<VerifiedRun> runs;
  std::pair<std::string, double> most_different{"", 0};  ///< the variable with the largest difference, and which

  /// The largest difference of a run, or of all; not a number where one is not.
  static double largest(const VerifiedRun& run);
  double largest() const;
};

/// Trains `steps` steps from the same initial weights on the same batches, on one replica and then on each number of
/// `replicas`: on the GPUs that the configuration would run on, or else on as many CPU devices as the cores suffice
/// for. Keeps the variables of every step of the first run in memory. Throws what a run throws.
Verification verify_replicas(const CheckedConfiguration& checked, const std::vector<int>& replicas, std::int64_t steps,
                             const Hardware& hardware = this_hardware());

/// What in the configuration makes the result depend on the number of replicas by definition, and what looks so but
/// does not: a line each.
std::vector<std::string> differences_explained(const CheckedConfiguration& checked);

}  // namespace mirrortrain
