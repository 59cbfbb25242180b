#include "model/data_parts.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "graph/ops/collective.h"
#include "graph/regather.h"

namespace mirrortrain {
namespace {

bool is_divided(const ModelVariable& variable) {
  return variable.spec.trainable && !variable.constraint && !variable.spectrum && !variable.update.reads_whole() &&
         variable.spec.shape.elements() >= kFewestDividedElements;
}

/// A model's graph in which places have parts of variables.
class DividedGraph {
 public:
  DividedGraph(ModelGraph& made, int places) : made_(made), places_(places), nodes_(made.graph.nodes()) {}

  void divide(std::size_t variable) {
    gather(variable);
    if (variable < made_.gradients.size() && made_.gradients[variable] != kNoValue) reduce(variable);
  }

  void finish(bool regathers) {
    made_.forward += static_cast<NodeId>(gathered_);
    made_.graph = made_.graph.with_nodes(with_added(std::move(nodes_), std::move(before_)));
    if (regathers) made_.graph = regather(made_.graph, made_.forward);
  }

 private:
  /// Replaces a variable by its part, which is gathered where a layer first reads it.
  void gather(std::size_t variable) {
    const ValueId whole = made_.variables[variable];
    const Graph::Value value = made_.graph.value(whole);
    const ValueId part =
        made_.graph.variable({value.name, Shape{ops::flat_part(value.spec.shape.elements(), places_)}});
    made_.variables[variable] = part;
    const auto reads = [whole](const Node& node) { return std::ranges::count(node.inputs, whole) > 0; };
    const auto first = std::ranges::find_if(nodes_, reads);
    if (first == nodes_.end()) return;
    const std::size_t begin = begin_of_layer(nodes_, 0, static_cast<std::size_t>(first - nodes_.begin()));
    made_.graph.set_layer(first->layer);
    const ValueId gathered = made_.graph.apply_one(ops::GatherParts(value.spec.shape, places_), {part});
    take_nodes(made_.graph.nodes().size() - 1, begin);
    ++gathered_;
    for (Node& node : nodes_) std::ranges::replace(node.inputs, whole, gathered);
  }

  /// Replaces a gradient by this place's part of the sum, which is made as soon as the gradient is complete.
  void reduce(std::size_t variable) {
    const ValueId gradient = made_.gradients[variable];
    const auto producer = static_cast<std::size_t>(made_.graph.value(gradient).producer);
    const std::size_t nodes = made_.graph.nodes().size();
    made_.graph.set_layer(nodes_[producer].layer);
    made_.gradients[variable] =
        made_.graph.apply_one(ops::ReduceParts(places_), {ops::exchangeable(made_.graph, gradient)});
    take_nodes(nodes, producer + 1);
  }

  /// Moves the graph's nodes from number `first` on to where they belong: before `node`.
  void take_nodes(std::size_t first, std::size_t node) {
    const std::vector<Node>& all = made_.graph.nodes();
    before_[node].insert(before_[node].end(), all.begin() + static_cast<std::ptrdiff_t>(first), all.end());
  }

  ModelGraph& made_;
  const int places_;
  std::vector<Node> nodes_;  ///< the original ones
  AddedNodes before_;
  std::size_t gathered_ = 0;
};

}  // namespace

Model divided_over_data(Model model, const DataParts& parts) {
  std::vector<std::size_t> divided;
  for (std::size_t i = 0; i < model.variables.size(); ++i) {
    if (!is_divided(model.variables[i]) || (parts.divides && !parts.divides(i))) continue;
    divided.push_back(i);
    model.variables[i].data_parts = parts.places;
  }
  const auto divide = [&](ModelGraph& made) {
    DividedGraph divided_graph(made, parts.places);
    for (const std::size_t variable : divided) divided_graph.divide(variable);
    divided_graph.finish(parts.regathers);
  };
  const auto divide_both = [&](auto& graphs) {
    divide(graphs.training);
    divide(graphs.evaluation);
  };
  divide_both(model);
  std::ranges::for_each(model.other_places, divide_both);
  for (ShorterGraphs& shorter : model.shorter) {
    divide_both(shorter);
    std::ranges::for_each(shorter.other_places, divide_both);
  }
  return model;
}

}  // namespace mirrortrain
