#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda/cudnn_plan.h"
#include "kernels/cuda/merge_statistics.h"
#include "kernels/kernel.h"

namespace mirrortrain::cuda {

// Plans of cuDNN's that compute a convolution and also sum its output's channels, for a Conv2dBatchNorm in bfloat16.
// `specs` are the whole op's, with at least one row.

/// A text that no other convolution has.
std::string problem_with_sums(const Conv2dBatchNorm& op, const KernelSpecs& specs);

/// At most `most`, in the order of cuDNN's heuristics, at least one. Each is compiled, which takes up to seven
/// seconds. Throws
/// Error with cuDNN's reasons where it has none, as always if its options want a fixed order of sums.
std::vector<CudnnPlan> plans_with_sums(const Conv2dBatchNorm& op, const KernelSpecs& specs, const Cudnn& cudnn,
                                       std::size_t most);

/// The kernel that runs `plan`, one of these, and then the normalization that starts from its sums.
std::unique_ptr<Kernel> make_with_sums(const Conv2dBatchNorm& op, const KernelSpecs& specs,
                                       std::shared_ptr<Cudnn> cudnn, CudnnPlan plan);

}  // namespace mirrortrain::cuda
