#pragma once

#include <cstdint>
#include <limits>

namespace mirrortrain {

/// A run has no more optimizers, each for some of the variables.
inline constexpr int kMostOptimizers = 8;

/// A step's parameters that kernels read, in device memory so that a captured step can be replayed: a lane has one
/// shared by its replicas, then one for each replica.
struct StepParams {
  // For programs.
  std::uint64_t seed = 0;
  std::int64_t step = 0;             ///< counts global batches from 1
  std::int64_t first_row = 0;        ///< the replica's first row in the global batch
  std::int64_t global_examples = 1;  ///< rows of the whole global batch

  // For the update: a gradient is multiplied by `scale`, each element is limited to [-clip_value, clip_value], and the
  // rule is applied.
  float learning_rates[kMostOptimizers] = {};  ///< by optimizer
  float scale = 1;
  float clip_value = std::numeric_limits<float>::infinity();
  std::int64_t updates = 1;  ///< counts this one, from 1
  float update = 1;          ///< the same number, for the graphs of directions
};

}  // namespace mirrortrain
