#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include "base/dtype.h"
#include "collective/local/stage_work.h"
#include "graph/aggregation_method.h"

namespace mirrortrain {

/// How ranks that reach each other's memory sum.
enum class LocalAlgorithm {
  kOnePass,               ///< every rank sums its shard straight from, and back into, everybody's memory, in rank order
  kRing,                  ///< reduce-scatter, then all-gather, from neighbour to neighbour
  kHierarchicalCopy,      ///< sum within groups of about sqrt(N) ranks, then across the groups, then copy back
  kReductionToOneDevice,  ///< sum into the root's memory, then the others copy
};

inline constexpr auto kLocalAlgorithmNames = std::to_array<std::pair<std::string_view, LocalAlgorithm>>({
    {"one_pass", LocalAlgorithm::kOnePass},
    {"ring", LocalAlgorithm::kRing},
    {"hierarchical_copy", LocalAlgorithm::kHierarchicalCopy},
    {"reduction_to_one_device", LocalAlgorithm::kReductionToOneDevice},
});

/// Whether an aggregation method changes what the algorithm does. It governs the algorithms that copy
/// (hierarchical_copy and reduction_to_one_device); one_pass and ring have an order of their own by definition.
bool uses_aggregation_method(LocalAlgorithm algorithm);

/// An all-reduce of ranks that reach each other's memory, as stages. In each stage every rank does its part, in any
/// order and on any thread; between two stages, and after the last, everybody meets. The order of every sum is defined
/// over ranks, whoever plays them, so the bits do not depend on the number of threads.
///
/// No algorithm and no method needs memory beside the ranks' elements: since every rank gets the total in the end,
/// partial sums overwrite terms that are used up.
///
///                           stages, N > 1     order of the sum
/// one_pass                  1                 rank order
/// ring                      2 (N - 1)         around the ring, another beginning for each shard
/// hierarchical_copy         2 (N = 2), else 3 by the method within a group, then by the method across the groups
/// reduction_to_one_device   2 (tree: 1 + L)   by the method over all ranks; L = log2(N), rounded up
///
/// add_n adds all terms in one pass, in rank order. tree adds neighbours, ((0 + 1) + (2 + 3)) + ..., whatever the root;
/// in reduction_to_one_device the pairs of one level are added at the same time, each by its first rank. accumulate_n
/// adds term after term, in rank order, to the elements of the root or of a group's first rank, whose own term so comes
/// first.
class LocalReduction {
 public:
  static constexpr int kMaxRanks = 1024;

  /// `root` is where reduction_to_one_device sums. Throws Error unless 1 <= ranks <= kMaxRanks and 0 <= root < ranks.
  LocalReduction(LocalAlgorithm algorithm, int ranks, AggregationMethod method = AggregationMethod::kAddN,
                 int root = 0);

  int ranks() const { return ranks_; }
  /// None for one rank, whose elements are the sum.
  int stages() const { return stages_; }

  /// Rank `rank`'s part of stage `stage`. `data`: by rank, `count` elements each, aligned to 64 bytes where speed
  /// matters; no two overlap. Every rank and stage is given the same `count` and `data`. After the last stage and a
  /// meeting every rank's elements hold the sum. Allocates nothing. Throws Error for a type other than float32,
  /// float64, int32 and int64.
  void run(int stage, int rank, DType dtype, std::size_t count, std::span<std::byte* const> data,
           const StageWork& work = shared_memory_work()) const;

 private:
  LocalAlgorithm algorithm_;
  AggregationMethod method_;
  int ranks_, root_, stages_;
};

}  // namespace mirrortrain
