#include "model/graphs/model_gradients.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "graph/gradients.h"
#include "graph/ops/collective.h"
#include "graph/ops/combine.h"
#include "graph/recompute.h"

namespace mirrortrain {
namespace {

void add_gradients_to(const Model& model, ModelGraph& made, const GradientOptions& options) {
  const auto forward = static_cast<NodeId>(made.graph.nodes().size());
  made.forward = forward;
  std::vector<ValueId> trained;
  for (std::size_t i = 0; i < model.variables.size(); ++i) {
    if (model.variables[i].spec.trainable) trained.push_back(made.variables[i]);
  }
  std::vector<WeightedLoss> losses;
  for (std::size_t i = 0; i < made.outputs.size(); ++i) {
    losses.push_back({made.outputs[i].loss, static_cast<float>(model.outputs[i].loss_weight * options.loss_scale)});
  }
  if (made.penalty != kNoValue) losses.push_back({made.penalty, static_cast<float>(options.loss_scale)});
  std::vector<ValueId> gradients = add_gradients(made.graph, losses, trained, options.aggregation);
  for (ValueId& gradient : gradients) {
    if (options.loss_scale != 1)
      gradient = made.graph.apply_one(ops::Scale(static_cast<float>(1 / options.loss_scale)), {gradient});
  }
  auto next = gradients.begin();
  for (const ModelVariable& variable : model.variables) {
    made.gradients.push_back(variable.spec.trainable ? ops::not_of_collective(made.graph, *next++) : kNoValue);
  }
  if (options.units.empty()) return;
  made.graph = recompute(made.graph, forward, [&](const std::string& layer) {
    const auto unit = options.units.find(layer);
    return unit == options.units.end() ? -1 : unit->second;
  });
}

/// Throws Error, naming the layer, unless places with these graphs can run them together. Their nodes may differ in
/// which part of a gathered value they read.
void require_same_steps(const ModelGraph& a, const ModelGraph& b) {
  const auto same_node = [](const Node& one, const Node& other) {
    return one.op->name() == other.op->name() && one.outputs == other.outputs && one.layer == other.layer;
  };
  const auto [of_a, of_b] = std::ranges::mismatch(a.graph.nodes(), b.graph.nodes(), same_node);
  const bool is_same = of_a == a.graph.nodes().end() && of_b == b.graph.nodes().end() &&
                       a.graph.values().size() == b.graph.values().size() && a.gradients == b.gradients &&
                       a.outputs == b.outputs;
  if (is_same) return;
  const Node* const node = of_a != a.graph.nodes().end()   ? &*of_a
                           : of_b != b.graph.nodes().end() ? &*of_b
                                                           : nullptr;  // gradients or outputs differ
  throw Error(
      fmt::format("{}: the places of a replica would compute different operations{}; use another strategy.mesh.model",
                  node == nullptr || node->layer.empty() ? "the model" : "layer " + node->layer,
                  node == nullptr ? "" : fmt::format(" ({})", node->op->name())));
}

}  // namespace

void add_model_gradients(Model& model, const GradientOptions& options) {
  add_gradients_to(model, model.training, options);
  for (PlaceGraphs& other : model.other_places) {
    add_gradients_to(model, other.training, options);
    require_same_steps(model.training, other.training);
  }
}

}  // namespace mirrortrain
