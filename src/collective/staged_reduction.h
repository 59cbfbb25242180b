#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "collective/cross_device_ops.h"
#include "collective/stage_work.h"
#include "graph/aggregation_method.h"

namespace mirrortrain {

struct StagedOperation;

/// The operations that consist of stages; see StagedReduction.
std::vector<CrossDeviceOps> staged_operations();

/// Whether an aggregation method changes the order in which a staged operation adds. ring's order is fixed.
bool uses_aggregation_method(CrossDeviceOps operation);

/// An all-reduce of ranks that can access each other's memory, in stages. In each stage every rank does its part, in
/// any order and on any thread; between stages and after the last there is a barrier. The order of every sum is defined
/// over ranks, so the result is bitwise independent of the number of threads.
///
/// No operation or method needs additional memory: since every rank receives the total in the end, partial sums
/// overwrite terms that are no longer needed.
///
///                           stages, N > 1     order of the sum
/// ring                      2 (N - 1)         around the ring, from another rank for each shard
/// hierarchical_copy         2 (N = 2), else 3 by the method within groups of about sqrt(N) ranks, then by the method
///                                             across the groups
/// reduction_to_one_device   2 (tree: 1 + L)   by the method over all ranks; L = log2(N), rounded up
///
/// add_n adds all terms in one pass, in rank order. tree adds neighbours, ((0 + 1) + (2 + 3)) + ..., regardless of the
/// root; in reduction_to_one_device the pairs of one level are added at the same time, each by its first rank.
/// accumulate_n adds term after term, in rank order, to the elements of the root or of a group's first rank, whose own
/// term therefore comes first.
class StagedReduction {
 public:
  static constexpr int kMaxRanks = 1024;

  /// `root` is where reduction_to_one_device sums. Throws Error for an operation without stages, or unless 1 <= ranks
  /// <= kMaxRanks and 0 <= root < ranks.
  StagedReduction(CrossDeviceOps operation, int ranks, AggregationMethod method = AggregationMethod::kAddN,
                  int root = 0);

  int ranks() const { return ranks_; }
  AggregationMethod method() const { return method_; }
  int root() const { return root_; }
  /// 0 for one rank, whose elements are the sum.
  int stages() const { return stages_; }

  /// Rank `rank`'s part of stage `stage`. `data`: by rank, `count` elements each, preferably aligned to 64 bytes; no
  /// two overlap. Every rank and stage gets the same `count` and `data`. After the last stage and a barrier every
  /// rank's elements hold the sum. Allocates nothing. Throws Error for a type that `work` cannot sum.
  void run(int stage, int rank, DType dtype, std::size_t count, std::span<std::byte* const> data,
           const StageWork& work = shared_memory_work()) const;

 private:
  const StagedOperation* operation_;
  AggregationMethod method_;
  int ranks_, root_, stages_;
};

}  // namespace mirrortrain
