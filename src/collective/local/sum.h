#pragma once

#include <cstddef>
#include <span>

#include "base/dtype.h"
#include "collective/communicator.h"
#include "graph/aggregation_method.h"

namespace mirrortrain::local {

/// to[k][i] = ((from[0][i] + from[1][i]) + from[2][i]) + ... for every k and every i in the shard. `to` may name any of
/// `from`.
void sum(DType dtype, std::span<std::byte* const> from, std::span<std::byte* const> to, Shard shard);

/// to[i] += from[i]
void add(DType dtype, std::byte* to, std::byte* from, Shard shard);

/// As StageWork, on a memory that all share.
void combine(AggregationMethod method, DType dtype, std::span<std::byte* const> terms, std::span<std::byte* const> to,
             Shard shard);

/// to[i] = from[i]
void copy(DType dtype, std::byte* to, const std::byte* from, Shard shard);

}  // namespace mirrortrain::local
