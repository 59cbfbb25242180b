#include "runtime/arena.h"

#include <algorithm>
#include <numeric>

namespace mirrortrain {
namespace {

/// What libraries on a GPU expect of a workspace; its memory begins at such an address, too.
constexpr std::size_t kAlignment = 256;

std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

bool overlap(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

}  // namespace

ArenaPlan plan_arena(const std::vector<Lifetime>& lifetimes) {
  ArenaPlan plan;
  plan.offsets.assign(lifetimes.size(), 0);
  std::vector<std::size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; });

  std::vector<std::size_t> placed;  // by offset
  for (const std::size_t next : order) {
    std::size_t offset = 0;
    for (const std::size_t other : placed) {
      if (!overlap(lifetimes[next], lifetimes[other])) continue;
      if (offset + aligned(lifetimes[next].bytes) <= plan.offsets[other]) break;
      offset = std::max(offset, plan.offsets[other] + aligned(lifetimes[other].bytes));
    }
    plan.offsets[next] = offset;
    plan.bytes = std::max(plan.bytes, offset + aligned(lifetimes[next].bytes));
    const auto at = std::upper_bound(placed.begin(), placed.end(), next,
                                     [&](std::size_t a, std::size_t b) { return plan.offsets[a] < plan.offsets[b]; });
    placed.insert(at, next);
  }
  return plan;
}

}  // namespace mirrortrain
