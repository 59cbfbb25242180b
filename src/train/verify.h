#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "train/session/run.h"

namespace mirrortrain {

/// The difference between a step on a mesh of several places and the same step on one.
struct StepDifference {
  double loss = 0;     ///< |difference| / |loss on one place|
  double weights = 0;  ///< after the step: the largest |difference| in a variable / the largest element of the variable
                       ///< or, if that is larger, 1e-4, for a statistic 1e-3, of the model's largest weight
  /// The larger of both. In a lower precision than float32 without what its rounding makes on one place, too, and of
  /// weights the root of the mean square takes the place of the largest.
  double counted = 0;
};

/// The steps of a run on one mesh.
struct VerifiedRun {
  Mesh mesh;
  std::vector<StepDifference> steps;
};

struct Verification {
  std::vector<double> losses;  ///< on one place, for each step
  /// Variables whose gradient is 0 up to rounding, such as a bias that a normalization cancels. They are held at their
  /// initial values: optimizers like Adam amplify rounding errors, and nothing depends on these variables.
  std::vector<std::string> left_out;
  std::int64_t elements_left_out = 0;  ///< of other variables, for the same reason
  std::vector<VerifiedRun> runs;
  std::pair<std::string, double> most_different{"", 0};  ///< the variable with the largest that counts, and its value
  double rounding = 0;  ///< the largest difference that does not count: that of the precision's rounding

  /// The largest difference that counts in a run, or in all; NaN if any is.
  static double largest(const VerifiedRun& run);
  double largest() const;
};

/// A mesh to compare with one place, and the configuration checked for its number of places of a replica.
struct MeshToVerify {
  Mesh mesh;
  const CheckedConfiguration* checked;
};

/// Trains `steps` steps from the same initial weights on the same batches, on one place and then on each of `meshes`:
/// on the GPUs that the configuration would use, or else on as many CPU devices as there are cores. Keeps the variables
/// of every step of the first run in memory. `checked`: for one place. `exact`: the same in float32 where it computes
/// in a lower precision, whose rounding then does not count; else null. Throws the exceptions of a run.
Verification verify_meshes(const CheckedConfiguration& checked, const std::vector<MeshToVerify>& meshes,
                           std::int64_t steps, const Hardware& hardware = this_hardware(),
                           const CheckedConfiguration* exact = nullptr);

/// Parts of the configuration that make the result depend on the number of replicas by definition, and parts that only
/// seem to: one line each.
std::vector<std::string> differences_explained(const CheckedConfiguration& checked);

}  // namespace mirrortrain
