#include "collective/local/algorithms.h"

#include <algorithm>

#include "collective/local/sum.h"

namespace mirrortrain::local {

void one_pass_all_reduce(const Meeting& meeting) {
  sum(meeting.dtype, meeting.data, meeting.data, meeting.shard(meeting.rank));
}

void one_pass_reduce_scatter(const Meeting& meeting) {
  const auto mine = meeting.data.subspan(static_cast<std::size_t>(meeting.rank), 1);
  sum(meeting.dtype, meeting.data, mine, meeting.shard(meeting.rank));
}

void one_pass_all_gather(const Meeting& meeting) {
  for (int other = 0; other < meeting.size; ++other) {
    if (other != meeting.rank) copy(meeting.dtype, meeting.mine(), meeting.at(other), meeting.shard(other));
  }
}

// Shard c sets out at rank c + 1 and comes to rest, summed, at rank c; each step adds the left neighbour's part to
// one's own.
void ring_reduce_scatter(const Meeting& meeting) {
  const int left = (meeting.rank + meeting.size - 1) % meeting.size;
  for (int step = 0; step + 1 < meeting.size; ++step) {
    if (step > 0) meeting.barrier.arrive_and_wait();
    const int travelling = (meeting.rank + 2 * meeting.size - step - 2) % meeting.size;
    add(meeting.dtype, meeting.mine(), meeting.at(left), meeting.shard(travelling));
  }
}

void ring_all_gather(const Meeting& meeting) {
  const int left = (meeting.rank + meeting.size - 1) % meeting.size;
  for (int step = 0; step + 1 < meeting.size; ++step) {
    if (step > 0) meeting.barrier.arrive_and_wait();
    const int travelling = (meeting.rank + 2 * meeting.size - step - 1) % meeting.size;
    copy(meeting.dtype, meeting.mine(), meeting.at(left), meeting.shard(travelling));
  }
}

void hierarchical_copy_all_reduce(const Meeting& meeting) {
  int group_size = 1;
  while (group_size * group_size < meeting.size) ++group_size;
  const int leader = meeting.rank / group_size * group_size;
  const int members = std::min(group_size, meeting.size - leader);

  // Within the group: every member sums a part into the leader's elements.
  const auto group = meeting.data.subspan(static_cast<std::size_t>(leader), static_cast<std::size_t>(members));
  sum(meeting.dtype, group, group.first(1), shard_of(meeting.count, meeting.rank - leader, members));
  meeting.barrier.arrive_and_wait();

  // Across the groups: every rank sums its shard of the leaders' sums and gives it back to every leader.
  std::size_t leaders = 0;
  for (int rank = 0; rank < meeting.size; rank += group_size) meeting.scratch[leaders++] = meeting.at(rank);
  sum(meeting.dtype, meeting.scratch.first(leaders), meeting.scratch.first(leaders), meeting.shard(meeting.rank));
  meeting.barrier.arrive_and_wait();

  if (meeting.rank != leader) copy(meeting.dtype, meeting.mine(), meeting.at(leader), meeting.whole());
}

void reduction_to_one_device_all_reduce(const Meeting& meeting) {
  if (meeting.rank == 0) sum(meeting.dtype, meeting.data, meeting.data.first(1), meeting.whole());
  meeting.barrier.arrive_and_wait();
  if (meeting.rank != 0) copy(meeting.dtype, meeting.mine(), meeting.at(0), meeting.whole());
}

}  // namespace mirrortrain::local
