#pragma once

#include <cstddef>
#include <vector>

#include "graph/graph.h"

namespace mirrortrain {

/// By value of a graph: the one whose storage it uses, of an alias op's output its input's.
std::vector<ValueId> storage_roots(const Graph& graph);

/// Which of a graph's values a program stores, in whose storage, and until when.
struct Liveness {
  std::vector<ValueId> roots;       ///< storage_roots
  std::vector<bool> needed;         ///< by value: it is an output, or one depends on it
  std::vector<NodeId> last_reader;  ///< by root: the last node that reads it or an alias of it, -1 if none does
};

/// For a program that writes `outputs`.
Liveness liveness_of(const Graph& graph, const std::vector<ValueId>& outputs);

/// Whether a node is a step of the program: it has a kernel, and an output that is needed.
bool is_step(const Node& node, const Liveness& liveness);

/// A tensor's time in the arena, in steps of the program: written at `first`, read for the last time at `last`.
struct Lifetime {
  std::size_t bytes = 0;
  std::size_t first = 0, last = 0;
};

struct ArenaPlan {
  std::vector<std::size_t> offsets;  ///< one per lifetime, multiples of 256
  std::size_t bytes = 0;
};

/// Assigns memory that tensors with disjoint lifetimes share: largest first, each at the lowest offset that is free for
/// its whole lifetime.
ArenaPlan plan_arena(const std::vector<Lifetime>& lifetimes);

}  // namespace mirrortrain
