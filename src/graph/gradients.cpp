#include "graph/gradients.h"

#include <map>
#include <utility>

#include "base/error.h"
#include "graph/ops/combine.h"
#include "graph/ops/elementwise.h"

namespace mirrortrain {
namespace {

/// For each value: does it depend on one of `variables`, so that its gradient matters?
std::vector<bool> depends_on(const Graph& graph, const std::vector<ValueId>& variables) {
  std::vector<bool> depends(graph.values().size(), false);
  for (const ValueId variable : variables) depends[index(variable)] = true;
  for (const Node& node : graph.nodes()) {
    bool any = false;
    for (const ValueId input : node.inputs) any = any || (input != kNoValue && depends[index(input)]);
    for (const ValueId output : node.outputs) depends[index(output)] = any;
  }
  return depends;
}

/// For each value the first node that reads it, -1 if none does.
std::vector<NodeId> first_consumers(const Graph& graph) {
  std::vector<NodeId> first(graph.values().size(), -1);
  for (NodeId id = static_cast<NodeId>(graph.nodes().size()) - 1; id >= 0; --id) {
    for (const ValueId input : graph.node(id).inputs) {
      if (input != kNoValue) first[index(input)] = id;
    }
  }
  return first;
}

/// The terms of each value's gradient, one per consumer, added as the method says.
class Terms {
 public:
  Terms(Graph& graph, std::size_t values, AggregationMethod method) : graph_(graph), method_(method), sums_(values) {}

  void add(ValueId value, ValueId term) {
    std::vector<Sum>& sums = sums_[index(value)];
    sums.push_back({term, 1});
    while (sums.size() > 1 && can_add(sums[sums.size() - 2], sums.back())) add_last_two(sums);
  }

  /// The sum of the terms, kNoValue where there are none. Call it once the last one exists.
  ValueId total(ValueId value) {
    std::vector<Sum>& sums = sums_[index(value)];
    if (sums.empty()) return kNoValue;
    if (method_ == AggregationMethod::kAddN && sums.size() > 1) {
      std::vector<ValueId> in_order;  // they were added in backward order
      for (auto sum = sums.rbegin(); sum != sums.rend(); ++sum) in_order.push_back(sum->value);
      sums = {{graph_.apply_one(ops::AddN{}, std::move(in_order)), sums.size()}};
    }
    while (sums.size() > 1) add_last_two(sums);
    return sums.front().value;
  }

 private:
  struct Sum {
    ValueId value;
    std::size_t terms;
  };

  bool can_add(const Sum& earlier, const Sum& later) const {
    switch (method_) {
      case AggregationMethod::kAddN: return false;
      case AggregationMethod::kTree: return earlier.terms == later.terms;
      case AggregationMethod::kAccumulateN: break;
    }
    return true;
  }

  /// The earlier one is the first input, so that the sum may overwrite it.
  void add_last_two(std::vector<Sum>& sums) {
    const Sum later = sums.back();
    sums.pop_back();
    Sum& sum = sums.back();
    sum = {graph_.apply_one(ops::AddN{}, {sum.value, later.value}), sum.terms + later.terms};
  }

  Graph& graph_;
  AggregationMethod method_;
  std::vector<std::vector<Sum>> sums_;  ///< by value, in the order in which their terms came
};

/// Adds the terms that `node` gives to the gradients of its inputs.
/// `loss`: the term that the node is; null if it is none.
void add_terms(Graph& graph, const Node& node, const WeightedLoss* loss, const std::vector<bool>& depends,
               Terms& terms) {
  std::vector<ValueId> output_gradients;
  bool flows = loss != nullptr;
  for (const ValueId output : node.outputs) {
    output_gradients.push_back(loss != nullptr ? kNoValue : terms.total(output));
    flows = flows || output_gradients.back() != kNoValue;
  }
  std::vector<bool> wanted;
  bool any_wanted = false;
  for (const ValueId input : node.inputs) {
    wanted.push_back(input != kNoValue && depends[index(input)]);
    any_wanted = any_wanted || wanted.back();
  }
  if (!flows || !any_wanted) return;

  const std::vector<ValueId> input_gradients = node.op->gradient(graph, node, output_gradients, wanted);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!wanted[i] || input_gradients[i] == kNoValue) continue;
    const bool is_scaled = loss != nullptr && loss->weight != 1;
    terms.add(node.inputs[i],
              is_scaled ? graph.apply_one(ops::Scale(loss->weight), {input_gradients[i]}) : input_gradients[i]);
  }
}

}  // namespace

std::vector<ValueId> add_gradients(Graph& graph, const std::vector<WeightedLoss>& losses,
                                   const std::vector<ValueId>& variables, AggregationMethod method) {
  const std::vector<bool> depends = depends_on(graph, variables);
  const std::vector<NodeId> first_consumer = first_consumers(graph);
  std::map<NodeId, WeightedLoss> starts;
  for (const WeightedLoss& loss : losses) starts.emplace(graph.value(loss.loss).producer, loss);
  if (starts.empty() || starts.contains(-1)) throw Error("gradients start at loss ops");
  Terms terms(graph, graph.values().size(), method);

  for (NodeId id = starts.rbegin()->first; id >= 0; --id) {
    const Node node = graph.node(id);  // a copy: new nodes are appended
    graph.set_layer(node.layer);
    const auto start = starts.find(id);
    add_terms(graph, node, start != starts.end() ? &start->second : nullptr, depends, terms);
    // Added as soon as they all exist, terms live no longer than they must, and a variable's gradient is complete.
    for (const ValueId input : node.inputs) {
      if (input != kNoValue && first_consumer[index(input)] == id) terms.total(input);
    }
  }

  std::vector<ValueId> gradients;
  for (const ValueId variable : variables) gradients.push_back(terms.total(variable));
  return gradients;
}

}  // namespace mirrortrain
