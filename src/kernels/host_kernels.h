#pragma once

#include <cstdint>

#include "kernels/step_kernels.h"

namespace mirrortrain {

/// The kernels for variables in the host's memory, which no lane computes with: a parameter server's, the host's copy
/// of a run's. They return when they are done, whatever the stream.
const StepKernels& host_step_kernels();

/// Computes the regularization sums of a group's chunks, as an update leaves them, of its first `elements`.
void sum_regularization_on_host(const scalar::UpdateGroupView& group, std::int64_t elements);

}  // namespace mirrortrain
