#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace mirrortrain::ops {

// Collectives: a program runs up to one, every place contributes its inputs, and the program continues with the
// results. No kernel computes them; whoever runs the programs does.
//
// Every place's loss is a term of the sum that is minimized, so each gradient is the transposed operation, over the
// same axis. Places that compute the same loss, as those of the axis `model` do, give it the weight 1 / their number.

/// The places that a collective is over: those that differ in one index of the mesh.
enum class Axis : std::uint8_t {
  kData,   ///< parts of the global batch
  kModel,  ///< parts of the layers, for the same examples
};

struct Collective : Op {
  enum class Kind : std::uint8_t { kAllReduce, kAllGather, kReduceScatter };
  Kind kind;
  Axis axis;
  bool is_collective() const override { return true; }

 protected:
  Collective(Kind what, Axis over) : kind(what), axis(over) {}
};

/// Input: x, float32 or float64; over kData without rows. Output: the sum of every place's x, in the places' order.
struct AllReduce : Collective {
  explicit AllReduce(Axis over) : Collective(Kind::kAllReduce, over) {}
  std::string_view name() const override { return "all_reduce"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

/// Input: x, float32 or float64; over kData without rows. Outputs: every place's x, in the places' order.
struct AllGather : Collective {
  int places;  ///< of the axis
  AllGather(Axis over, int of) : Collective(Kind::kAllGather, over), places(of) {}
  std::string_view name() const override { return "all_gather"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

/// Inputs: a value for each place of the axis, float32 or float64, all alike; over kData without rows. Output: the sum,
/// in the places' order, of every place's value for this one.
struct ReduceScatter : Collective {
  explicit ReduceScatter(Axis over) : Collective(Kind::kReduceScatter, over) {}
  std::string_view name() const override { return "reduce_scatter"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

/// A graph's collective with what it reads and gives.
struct PlacedCollective {
  const Collective* op;
  std::vector<ValueId> inputs, outputs;
};
/// A graph's, in the order in which a program reaches them; valid as long as the graph.
std::vector<PlacedCollective> collectives_of(const Graph& graph);

}  // namespace mirrortrain::ops
