#pragma once

#include <cstddef>
#include <span>

#include "base/dtype.h"
#include "collective/communicator.h"
#include "graph/aggregation_method.h"

namespace mirrortrain {

/// The work of which a staged reduction consists, and who does it: a CPU at once in the memory that all ranks share, or
/// a rank's stream. Everything concerns the elements of a shard, and each pointer is where some rank's elements begin.
class StageWork {
 public:
  virtual ~StageWork() = default;

  /// Sums `terms` into every `to` by the method: add_n in the terms' order; tree as ((0 + 1) + (2 + 3)) + ...;
  /// accumulate_n adds the terms, in order, to to[0], whose own term so comes first. Each `to` is one of `terms`, save
  /// with add_n. What the terms hold in the shard afterwards is undefined, unless they are in `to`; add_n leaves them.
  virtual void combine(AggregationMethod method, DType dtype, std::span<std::byte* const> terms,
                       std::span<std::byte* const> to, Shard shard) const = 0;
  /// to[i] = from[i]
  virtual void copy(DType dtype, std::byte* to, const std::byte* from, Shard shard) const = 0;
};

/// In the memory that all ranks share, done when a call returns. float32, float64, int32 and int64; throws Error for
/// another type.
const StageWork& shared_memory_work();

}  // namespace mirrortrain
