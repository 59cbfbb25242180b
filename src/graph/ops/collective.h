#pragma once

#include <cstdint>
#include <utility>
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
  enum class Kind : std::uint8_t { kAllReduce, kAllGather, kReduceScatter, kGatherParts, kReduceParts };
  Kind kind;
  Axis axis;
  bool is_collective() const override { return true; }
  /// Whether places have flat parts of its input or output.
  bool is_of_parts() const { return kind == Kind::kGatherParts || kind == Kind::kReduceParts; }

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

/// The number of elements of each place's part of a flat tensor: equal parts in whole cache lines, so that places never
/// write to the same one, the last ones with zeros behind the tensor's elements.
std::int64_t flat_part(std::int64_t elements, int places);

/// A tensor of which each place of kData has a part, as of fully sharded weights. Input: the place's flat part, float32
/// [flat_part]; a variable, which the collective itself reads. Output: the tensor, float32, of the shape `whole`.
struct GatherParts : Collective {
  Shape whole;
  int places;
  GatherParts(Shape shape, int of) : Collective(Kind::kGatherParts, Axis::kData), whole(std::move(shape)), places(of) {}
  std::string_view name() const override { return "gather_parts"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

/// Input: a tensor, float32, without rows. Output: the place's flat part of the sum of every place's, float32
/// [flat_part].
struct ReduceParts : Collective {
  int places;
  explicit ReduceParts(int of) : Collective(Kind::kReduceParts, Axis::kData), places(of) {}
  std::string_view name() const override { return "reduce_parts"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
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
