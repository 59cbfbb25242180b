#include "collective/staged_reduction.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "base/error.h"

namespace mirrortrain {
namespace {

/// One rank's view of a stage, for more than one rank: all ranks' elements, which every rank may access, and the
/// executor of the rank's work. Within a stage no rank reads what another one writes.
struct Part {
  int rank, size;
  DType dtype;
  std::size_t count;
  std::span<std::byte* const> data;  ///< by rank
  AggregationMethod method;
  int root;
  const StageWork& work;

  std::byte* at(int of_rank) const { return data[static_cast<std::size_t>(of_rank)]; }
  Shard whole() const { return {0, count}; }
  Shard shard(int of_rank) const { return shard_of(count, of_rank, size); }

  void combine(std::span<std::byte* const> terms, std::span<std::byte* const> to, Shard over) const {
    work.combine(method, dtype, terms, to, over);
  }
  void sum(std::span<std::byte* const> terms, std::span<std::byte* const> to, Shard over) const {
    work.combine(AggregationMethod::kAddN, dtype, terms, to, over);
  }
  /// Adds another rank's elements to this one's.
  void add(int of_rank, Shard over) const {
    const std::array<std::byte*, 2> both = {at(rank), at(of_rank)};
    sum(both, std::span(both).first(1), over);
  }
  void copy(int of_rank, Shard over) const { work.copy(dtype, at(rank), at(of_rank), over); }
};

int ring_stages(int size, AggregationMethod) { return 2 * (size - 1); }

// Reduce-scatter: shard c starts at rank c + 1 and ends, summed, at rank c; each stage adds the left neighbour's part
// to the rank's own. Then all-gather: each stage copies it.
void ring(const Part& part, int stage) {
  const int steps = part.size - 1, left = (part.rank + part.size - 1) % part.size;
  const bool gathers = stage >= steps;
  const int step = gathers ? stage - steps : stage;
  const int travelling = (part.rank + 2 * part.size - step - (gathers ? 1 : 2)) % part.size;
  gathers ? part.copy(left, part.shard(travelling)) : part.add(left, part.shard(travelling));
}

/// About sqrt(size), so that a group has about as many members as there are groups.
constexpr int group_size(int size) {
  int members = 1;
  while (members * members < size) ++members;
  return members;
}

int hierarchical_copy_stages(int size, AggregationMethod) { return size > group_size(size) ? 3 : 2; }

void hierarchical_copy(const Part& part, int stage) {
  const int members_of_full_group = group_size(part.size);
  const int leader = part.rank / members_of_full_group * members_of_full_group;
  if (stage == 0) {  // within the group: every member sums a part into the leader's elements
    const int members = std::min(members_of_full_group, part.size - leader);
    const auto group = part.data.subspan(static_cast<std::size_t>(leader), static_cast<std::size_t>(members));
    part.combine(group, group.first(1), shard_of(part.count, part.rank - leader, members));
  } else if (stage + 1 < hierarchical_copy_stages(part.size, part.method)) {
    // Across the groups: every rank sums its shard of the leaders' sums and writes it to every leader.
    std::array<std::byte*, group_size(StagedReduction::kMaxRanks)> leaders;
    std::size_t groups = 0;
    for (int rank = 0; rank < part.size; rank += members_of_full_group) leaders[groups++] = part.at(rank);
    const std::span<std::byte* const> sums(leaders.data(), groups);
    part.combine(sums, sums, part.shard(part.rank));
  } else if (part.rank != leader) {
    part.copy(leader, part.whole());
  }
}

int reduction_to_one_device_stages(int size, AggregationMethod method) {
  return 1 + (method == AggregationMethod::kTree ? std::bit_width(static_cast<unsigned>(size - 1)) : 1);
}

void reduction_to_one_device(const Part& part, int stage) {
  const int last = reduction_to_one_device_stages(part.size, part.method) - 1;
  const auto to_root = part.data.subspan(static_cast<std::size_t>(part.root), 1);
  if (stage == last) {
    if (part.rank != part.root) part.copy(part.root, part.whole());
  } else if (part.method == AggregationMethod::kTree) {
    const int distance = 1 << stage;
    if (stage + 1 == last) {  // the last pair, which already includes the root's own term
      const std::array<std::byte*, 2> pair = {part.at(0), part.at(distance)};
      if (part.rank == part.root) part.sum(pair, to_root, part.whole());
    } else if (part.rank % (2 * distance) == 0 && part.rank + distance < part.size) {
      part.add(part.rank + distance, part.whole());
    }
  } else if (part.rank == part.root) {
    part.combine(part.data, to_root, part.whole());
  }
}

}  // namespace

struct StagedOperation {
  CrossDeviceOps operation;
  bool uses_method;
  int (*stages)(int ranks, AggregationMethod method);  ///< for more than one rank
  void (*run)(const Part& part, int stage);
};

namespace {

/// To add an operation: its two functions above, a row here and its name in cross_device_ops.h.
constexpr StagedOperation kOperations[] = {
    {CrossDeviceOps::kRing, false, ring_stages, ring},
    {CrossDeviceOps::kHierarchicalCopy, true, hierarchical_copy_stages, hierarchical_copy},
    {CrossDeviceOps::kReductionToOneDevice, true, reduction_to_one_device_stages, reduction_to_one_device},
};

const StagedOperation& find(CrossDeviceOps operation) {
  const auto* const found = std::ranges::find(kOperations, operation, &StagedOperation::operation);
  if (found == std::end(kOperations)) throw Error(fmt::format("{} is not made of stages", config::name_of(operation)));
  return *found;
}

}  // namespace

std::vector<CrossDeviceOps> staged_operations() {
  std::vector<CrossDeviceOps> operations;
  for (const StagedOperation& one : kOperations) operations.push_back(one.operation);
  return operations;
}

bool uses_aggregation_method(CrossDeviceOps operation) { return find(operation).uses_method; }

StagedReduction::StagedReduction(CrossDeviceOps operation, int ranks, AggregationMethod method, int root)
    : operation_(&find(operation)), method_(method), ranks_(ranks), root_(root), stages_(0) {
  if (ranks < 1 || ranks > kMaxRanks) {
    throw Error(fmt::format("1 to {} ranks can sum on one memory, found {}", kMaxRanks, ranks));
  }
  if (root < 0 || root >= ranks) throw Error(fmt::format("rank {} of {} cannot be the root of a sum", root, ranks));
  if (ranks > 1) stages_ = operation_->stages(ranks, method);
}

void StagedReduction::run(int stage, int rank, DType dtype, std::size_t count, std::span<std::byte* const> data,
                          const StageWork& work) const {
  operation_->run({rank, ranks_, dtype, count, data, method_, root_, work}, stage);
}

}  // namespace mirrortrain
