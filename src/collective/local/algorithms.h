#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "collective/communicator.h"
#include "collective/local/stage_work.h"
#include "graph/aggregation_method.h"

namespace mirrortrain::local {

/// One rank's view of a stage that every rank has a part in: everybody's elements, which all may touch, and who does
/// the rank's work.
struct Part {
  int rank, size;
  DType dtype;
  std::size_t count;
  std::span<std::byte* const> data;  ///< by rank
  const StageWork& work;

  std::byte* at(int of_rank) const { return data[static_cast<std::size_t>(of_rank)]; }
  std::byte* mine() const { return at(rank); }
  Shard whole() const { return {0, count}; }
  Shard shard(int of_rank) const { return shard_of(count, of_rank, size); }

  void sum(std::span<std::byte* const> terms, std::span<std::byte* const> to, Shard over) const {
    work.combine(AggregationMethod::kAddN, dtype, terms, to, over);
  }
  /// Another rank's elements to this one's.
  void add(int of_rank, Shard over) const {
    const std::array<std::byte*, 2> both = {mine(), at(of_rank)};
    sum(both, std::span(both).first(1), over);
  }
  void copy(int of_rank, Shard over) const { work.copy(dtype, mine(), at(of_rank), over); }
};

// What one rank does in one stage. Within a stage no rank reads what another one writes, so the order in which ranks
// are played does not matter. All are for size > 1.

void one_pass_all_reduce(const Part& part);
void one_pass_reduce_scatter(const Part& part);
void one_pass_all_gather(const Part& part);

/// Of the reduce-scatter, and of the all-gather again.
inline int ring_steps(int size) { return size - 1; }
void ring_reduce_scatter(const Part& part, int step);
void ring_all_gather(const Part& part, int step);

int hierarchical_copy_stages(int size);
void hierarchical_copy(const Part& part, int stage, AggregationMethod method);

int reduction_to_one_device_stages(AggregationMethod method, int size);
void reduction_to_one_device(const Part& part, int stage, AggregationMethod method, int root);

void broadcast(const Part& part, int root);

}  // namespace mirrortrain::local
