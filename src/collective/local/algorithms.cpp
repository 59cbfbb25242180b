#include "collective/local/algorithms.h"

#include <algorithm>
#include <array>
#include <bit>

#include "collective/local/reduction.h"

namespace mirrortrain::local {
namespace {

/// About sqrt(size), so that a group has about as many members as there are groups.
constexpr int group_size(int size) {
  int members = 1;
  while (members * members < size) ++members;
  return members;
}

int tree_levels(int size) { return std::bit_width(static_cast<unsigned>(size - 1)); }

}  // namespace

void one_pass_all_reduce(const Part& part) { part.sum(part.data, part.data, part.shard(part.rank)); }

void one_pass_reduce_scatter(const Part& part) {
  const auto mine = part.data.subspan(static_cast<std::size_t>(part.rank), 1);
  part.sum(part.data, mine, part.shard(part.rank));
}

void one_pass_all_gather(const Part& part) {
  for (int other = 0; other < part.size; ++other) {
    if (other != part.rank) part.copy(other, part.shard(other));
  }
}

// Shard c sets out at rank c + 1 and comes to rest, summed, at rank c; each step adds the left neighbour's part to
// one's own.
void ring_reduce_scatter(const Part& part, int step) {
  const int left = (part.rank + part.size - 1) % part.size;
  const int travelling = (part.rank + 2 * part.size - step - 2) % part.size;
  part.add(left, part.shard(travelling));
}

void ring_all_gather(const Part& part, int step) {
  const int left = (part.rank + part.size - 1) % part.size;
  const int travelling = (part.rank + 2 * part.size - step - 1) % part.size;
  part.copy(left, part.shard(travelling));
}

int hierarchical_copy_stages(int size) { return size > group_size(size) ? 3 : 2; }

void hierarchical_copy(const Part& part, int stage, AggregationMethod method) {
  const int members_of_full_group = group_size(part.size);
  const int leader = part.rank / members_of_full_group * members_of_full_group;
  if (stage == 0) {  // within the group: every member sums a part into the leader's elements
    const int members = std::min(members_of_full_group, part.size - leader);
    const auto group = part.data.subspan(static_cast<std::size_t>(leader), static_cast<std::size_t>(members));
    part.work.combine(method, part.dtype, group, group.first(1), shard_of(part.count, part.rank - leader, members));
  } else if (stage + 1 < hierarchical_copy_stages(part.size)) {
    // Across the groups: every rank sums its shard of the leaders' sums and gives it back to every leader.
    std::array<std::byte*, group_size(LocalReduction::kMaxRanks)> leaders;
    std::size_t groups = 0;
    for (int rank = 0; rank < part.size; rank += members_of_full_group) leaders[groups++] = part.at(rank);
    const std::span<std::byte* const> sums(leaders.data(), groups);
    part.work.combine(method, part.dtype, sums, sums, part.shard(part.rank));
  } else if (part.rank != leader) {
    part.copy(leader, part.whole());
  }
}

int reduction_to_one_device_stages(AggregationMethod method, int size) {
  return 1 + (method == AggregationMethod::kTree ? tree_levels(size) : 1);
}

void reduction_to_one_device(const Part& part, int stage, AggregationMethod method, int root) {
  const int last = reduction_to_one_device_stages(method, part.size) - 1;
  const auto to_root = part.data.subspan(static_cast<std::size_t>(root), 1);
  if (stage == last) return broadcast(part, root);
  if (method == AggregationMethod::kTree) {
    const int distance = 1 << stage;
    if (stage + 1 == last) {  // one pair is left, and the root's own term is already in it
      const std::array<std::byte*, 2> pair = {part.at(0), part.at(distance)};
      if (part.rank == root) part.sum(pair, to_root, part.whole());
    } else if (part.rank % (2 * distance) == 0 && part.rank + distance < part.size) {
      part.add(part.rank + distance, part.whole());
    }
  } else if (part.rank == root) {
    part.work.combine(method, part.dtype, part.data, to_root, part.whole());
  }
}

void broadcast(const Part& part, int root) {
  if (part.rank != root) part.copy(root, part.whole());
}

}  // namespace mirrortrain::local
