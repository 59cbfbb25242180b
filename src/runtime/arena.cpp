#include "runtime/arena.h"

#include <algorithm>
#include <numeric>

#include "base/round_up.h"

namespace mirrortrain {
namespace {

/// The workspace alignment that GPU libraries expect; the arena itself is aligned to it, too.
constexpr std::size_t kAlignment = 256;

bool overlap(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

bool any_needed(const Node& node, const std::vector<bool>& needed) {
  return std::ranges::any_of(node.outputs, [&](ValueId output) { return needed[index(output)]; });
}

std::vector<bool> needed_for(const Graph& graph, const std::vector<ValueId>& outputs) {
  std::vector<bool> needed(graph.values().size(), false);
  for (const ValueId output : outputs) needed[index(output)] = true;
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node) {
    // Who runs the program gives what a collective does; its input is an output of the program, where it has one.
    if (!any_needed(*node, needed) || node->op->is_collective()) continue;
    for (const ValueId input : node->inputs) {
      if (input != kNoValue) needed[index(input)] = true;
    }
  }
  return needed;
}

}  // namespace

std::vector<ValueId> storage_roots(const Graph& graph) {
  std::vector<ValueId> roots(graph.values().size());
  for (std::size_t i = 0; i < roots.size(); ++i) roots[i] = static_cast<ValueId>(i);
  for (const Node& node : graph.nodes()) {
    if (node.op->is_alias()) roots[index(node.outputs[0])] = roots[index(node.inputs[0])];
  }
  return roots;
}

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
      if (offset + round_up(lifetimes[next].bytes, kAlignment) <= plan.offsets[other]) break;
      offset = std::max(offset, plan.offsets[other] + round_up(lifetimes[other].bytes, kAlignment));
    }
    plan.offsets[next] = offset;
    plan.bytes = std::max(plan.bytes, offset + round_up(lifetimes[next].bytes, kAlignment));
    const auto at = std::upper_bound(placed.begin(), placed.end(), next,
                                     [&](std::size_t a, std::size_t b) { return plan.offsets[a] < plan.offsets[b]; });
    placed.insert(at, next);
  }
  return plan;
}

bool is_step(const Node& node, const Liveness& liveness) {
  return !node.op->is_alias() && !node.op->is_collective() && any_needed(node, liveness.needed);
}

Liveness liveness_of(const Graph& graph, const std::vector<ValueId>& outputs) {
  Liveness liveness{storage_roots(graph), needed_for(graph, outputs), std::vector<NodeId>(graph.values().size(), -1)};
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    if (!is_step(node, liveness)) continue;
    for (const ValueId input : node.inputs) {
      if (input != kNoValue) liveness.last_reader[index(liveness.roots[index(input)])] = id;
    }
  }
  return liveness;
}

}  // namespace mirrortrain
