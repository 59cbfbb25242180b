#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace mirrortrain::ops {

// Collectives: a program runs up to one, every place of the axis leaves its input, and the program goes on with what is
// made of all of them. No kernel computes them; whoever runs the programs does.

/// The places that a collective is over.
enum class Axis : std::uint8_t {
  kData,  ///< the run's replicas
};

/// Input: x, without rows. Output: the sum of every place's x, in the places' order. Its gradient is the sum of theirs,
/// as every place's output depends on each input (f and g of Megatron-LM, arXiv 1909.08053).
struct AllReduce : Op {
  Axis axis = Axis::kData;
  explicit AllReduce(Axis over) : axis(over) {}
  std::string_view name() const override { return "all_reduce"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
  bool is_collective() const override { return true; }
};

/// What a collective reads and gives.
struct Collective {
  ValueId input = kNoValue, output = kNoValue;
};
/// A graph's, in the order in which a program comes to them.
std::vector<Collective> collectives_of(const Graph& graph);

}  // namespace mirrortrain::ops
