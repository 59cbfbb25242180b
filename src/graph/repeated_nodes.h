#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace mirrortrain {

/// Values of a graph that are computed once more: copies of the nodes behind them, each at most once. The same ops on
/// the same inputs give the same bits.
class RepeatedNodes {
 public:
  /// `is_repeated`: of a value of the original graph; only of nodes' outputs. The graph must outlive it, to which the
  /// copies are added.
  RepeatedNodes(Graph& graph, std::function<bool(ValueId)> is_repeated)
      : graph_(graph), is_repeated_(std::move(is_repeated)), original_values_(graph.values().size()) {}

  /// The value to read in place of `value`: itself if it is not repeated. The nodes that it takes are appended to
  /// `added`, where the caller places them.
  ValueId again(ValueId value, std::vector<Node>& added) {
    if (value == kNoValue || index(value) >= original_values_ || !is_repeated_(value)) return value;
    if (const auto known = copies_.find(value); known != copies_.end()) return known->second;
    const Node original = graph_.node(graph_.value(value).producer);
    std::vector<ValueId> inputs;
    for (const ValueId input : original.inputs) inputs.push_back(again(input, added));
    graph_.set_layer(original.layer);
    const std::vector<ValueId> outputs = graph_.apply(original.op, std::move(inputs));
    added.push_back(graph_.nodes().back());
    for (std::size_t i = 0; i < outputs.size(); ++i) copies_[original.outputs[i]] = outputs[i];
    return copies_.at(value);
  }

 private:
  Graph& graph_;
  const std::function<bool(ValueId)> is_repeated_;
  const std::size_t original_values_;
  std::map<ValueId, ValueId> copies_;
};

}  // namespace mirrortrain
