#pragma once

#include <cstddef>
#include <span>

#include "base/barrier.h"
#include "collective/communicator.h"

namespace mirrortrain::local {

/// One rank's view of an operation that every rank of the group is in: everybody's elements, which all may touch.
struct Meeting {
  int rank, size;
  DType dtype;
  std::size_t count;
  std::span<std::byte* const> data;  ///< by rank
  std::span<std::byte*> scratch;     ///< this rank's, `size` pointers
  Barrier& barrier;

  std::byte* at(int of_rank) const { return data[static_cast<std::size_t>(of_rank)]; }
  std::byte* mine() const { return at(rank); }
  Shard whole() const { return {0, count}; }
  Shard shard(int of_rank) const { return shard_of(count, of_rank, size); }
};

// Each function is run by every rank. When one returns, other ranks may still be at work on their own elements or this
// rank's: the caller meets at the barrier once more.

void one_pass_all_reduce(const Meeting& meeting);
void one_pass_reduce_scatter(const Meeting& meeting);
void one_pass_all_gather(const Meeting& meeting);

void ring_reduce_scatter(const Meeting& meeting);
void ring_all_gather(const Meeting& meeting);

void hierarchical_copy_all_reduce(const Meeting& meeting);

void reduction_to_one_device_all_reduce(const Meeting& meeting);

}  // namespace mirrortrain::local
