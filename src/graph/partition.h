#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "graph/sharding.h"

namespace mirrortrain {

/// A graph's variables with their shardings; nullopt: partition() is to choose.
struct ShardedVariables {
  std::vector<ValueId*> ids;
  std::vector<std::optional<Sharding>> shardings;
};

/// What else is read of a graph; ids become those of the partitioned one.
struct KeptValues {
  std::vector<ValueId*> whole;                            ///< that every place has to have
  std::vector<std::pair<ValueId*, std::size_t>> written;  ///< to the variable of that number: divided as it is
};

/// The way of each node of a graph (op_parts.h): 0 for a whole, else its number in parts_of_op(), from 1. A graph of
/// the same nodes in other shapes can be divided in the same ways.
using ChosenWays = std::vector<std::size_t>;

/// The graph of one of the places that compute a forward graph together (before gradients are added): each has parts of
/// the variables and computes with them, and collectives exchange what others need (as in GSPMD, arXiv 2105.04663). Of
/// a node's ways (op_parts.h), the one with the fewest numbers to exchange, for 32 examples, is taken among those that
/// divide variables which are not divided yet. All places' graphs have the same values and nodes, by their ids, and
/// differ in shapes and in the ops' attributes. Sets the variables' shardings. Throws Error for a sharding whose axis
/// has fewer units than there are places. `ways`: if it has as many as there are nodes, these are taken; else it gets
/// those that are chosen.
Graph partition(const Graph& graph, const ModelPlace& place, ShardedVariables& variables, const KeptValues& kept,
                ChosenWays* ways = nullptr);

}  // namespace mirrortrain
