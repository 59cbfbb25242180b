#pragma once

#include <cstdint>
#include <optional>

#include "train/session/hardware.h"

namespace mirrortrain::testing {

/// Whether there are so many GPUs to test on.
bool has_gpus(int count);

/// Hardware with so many GPUs; `seed` changes what may happen at the same time, where that can be chosen.
Hardware gpus_under_test(int count, std::uint64_t seed = 1);

/// Whether the GPU of gpu_with has just the memory that is asked for.
bool memory_can_be_chosen();
/// One GPU with so much memory.
Hardware gpu_with(std::size_t memory_bytes, int count = 1);

/// What was enqueued so far, by all GPUs: launches of custom kernels, and kernels of libraries, of which some are
/// convolutions that leave the sums of a batch normalization. Nothing where nobody counts.
struct Launches {
  std::int64_t own = 0, of_libraries = 0, with_sums = 0;
};
std::optional<Launches> launches();

/// How far losses and variables may be from those of CPUs, relatively: sums are in another order there.
struct Tolerance {
  double losses, variables;
};
Tolerance tolerance();

}  // namespace mirrortrain::testing
