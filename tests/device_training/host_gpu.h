#pragma once

#include "train/session.h"

namespace mirrortrain::testing {

/// Hardware with so many GPUs, played on the host: streams are threads that work late and pause at random (`seed`), own
/// CUDA kernels run over fibers, and the libraries' kernels are the CPU's, each enqueued on its stream.
Hardware host_gpus(int count, std::uint64_t seed = 1);

}  // namespace mirrortrain::testing
