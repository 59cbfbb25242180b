#pragma once

#include <cstddef>
#include <span>

#include "base/dtype.h"
#include "collective/communicator.h"
#include "graph/aggregation_method.h"

namespace mirrortrain {

/// The operations of a staged reduction, run by a CPU synchronously in the memory that all ranks share, or by a rank's
/// stream. They operate on the elements of a shard; each pointer is the beginning of some rank's elements.
class StageWork {
 public:
  virtual ~StageWork() = default;

  /// Sums `terms` into every `to` by the method: add_n in the terms' order; tree as ((0 + 1) + (2 + 3)) + ...;
  /// accumulate_n adds the terms, in order, to to[0], whose own term therefore comes first. Each `to` is one of
  /// `terms`, except with add_n. Afterwards the terms' contents in the shard are undefined unless they are in `to`;
  /// add_n does not change them.
  virtual void combine(AggregationMethod method, DType dtype, std::span<std::byte* const> terms,
                       std::span<std::byte* const> to, Shard shard) const = 0;
  /// to[i] = from[i]
  virtual void copy(DType dtype, std::byte* to, const std::byte* from, Shard shard) const = 0;
};

/// In the memory that all ranks share; synchronous. float32, float64, int32 and int64; throws Error for another type.
const StageWork& shared_memory_work();

}  // namespace mirrortrain
