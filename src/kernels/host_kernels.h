#pragma once

#include <cstdint>

#include "kernels/backend.h"

namespace mirrortrain {

/// For variables in the host's memory, which no lane computes with: a parameter server's. Its kernels return when they
/// are done, whatever the stream.
const Backend& host_backend();

/// Computes the regularization sums of a group's chunks, as an update leaves them, of its first `elements`.
void sum_regularization_on_host(const scalar::UpdateGroupView& group, std::int64_t elements);

}  // namespace mirrortrain
