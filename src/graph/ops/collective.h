#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace mirrortrain::ops {

// Collectives: a program runs up to one, every place contributes its inputs, and the program continues with the
// results. No kernel computes them; whoever runs the programs does.
//
// Gradients follow from what places compute. Along kData each has a loss of its own, a term of the sum that is
// minimized, so the gradient of a collective is the transposed operation. Along kModel all compute the same loss: a
// value that is whole at every place has its whole gradient there, so the sum of parts passes it on as it is, and what
// parts read of a whole value is added up (Megatron-LM, arXiv 1909.08053, where these are g and f).

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
  int places;   ///< of the axis
  int own = 0;  ///< the place's index on kModel, whose part of the gradient it takes
  AllGather(Axis over, int of, int place = 0) : Collective(Kind::kAllGather, over), places(of), own(place) {}
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

/// A whole value that the places of kModel read for their parts of the layers. An alias; its gradient is the sum of all
/// places' gradients. Input: x, float32 or bfloat16.
struct CopyToPlaces : Op {
  std::string_view name() const override { return "copy_to_places"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
  bool is_alias() const override { return true; }
};

/// What a collective may take in place of x, float32 or bfloat16: a float32 value of a node's own that no other
/// collective reads, as each has its inputs in memory of its own.
ValueId exchangeable(Graph& graph, ValueId x);

/// The sum of every place's x along kModel; x as in AllReduce, or bfloat16, which is added as float32.
ValueId sum_of_places(Graph& graph, ValueId x);

/// A copy of what a collective gives, or of an alias of that, else the value itself: a program writes its outputs
/// elsewhere than where those of collectives are.
ValueId not_of_collective(Graph& graph, ValueId value);

/// A graph's collective with what it reads and gives.
struct PlacedCollective {
  const Collective* op;
  std::vector<ValueId> inputs, outputs;
};
/// A graph's, in the order in which a program reaches them; valid as long as the graph.
std::vector<PlacedCollective> collectives_of(const Graph& graph);

}  // namespace mirrortrain::ops
