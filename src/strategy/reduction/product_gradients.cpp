#include "strategy/reduction/product_gradients.h"

#include <algorithm>

#include "graph/ops/collective.h"
#include "graph/ops/dense.h"

namespace mirrortrain {
namespace {

/// With fewer elements, storing a gradient is as fast as computing it in the update.
constexpr std::int64_t kWorthwhile = 16 * 1024;

/// The value of which `value` is an alias, or itself.
ValueId root_of(const Graph& graph, ValueId value) {
  while (graph.value(value).source == Graph::Source::kNode) {
    const Node& producer = graph.node(graph.value(value).producer);
    if (!producer.op->is_alias()) break;
    value = producer.inputs[0];
  }
  return value;
}

/// Values of collectives are in memory of their own.
bool is_of_collective(const Graph& graph, ValueId value) {
  return std::ranges::any_of(ops::collectives_of(graph), [value](const ops::PlacedCollective& collective) {
    return std::ranges::count(collective.inputs, value) + std::ranges::count(collective.outputs, value) > 0;
  });
}

bool is_usable(const Graph& graph, ValueId value) {
  return graph.value(value).source != Graph::Source::kVariable && graph.spec(value).batched &&
         !is_of_collective(graph, value);
}

/// Whether the kernels compute it for every place's part.
bool is_supported(const Model& model, std::size_t variable, DType operands, const StepKernels& kernels) {
  for (int place = 0; place < model.places(); ++place) {
    if (!kernels.supports_product(model.part_shape(variable, place).back(), operands)) return false;
  }
  return true;
}

}  // namespace

std::vector<ProductGradient> find_product_gradients(const Model& model, const std::vector<VariablePolicy>& policies,
                                                    const StepKernels& kernels) {
  std::vector<ProductGradient> found;
  const Graph& graph = model.training.graph;
  for (std::size_t i = 0; i < model.variables.size(); ++i) {
    const ModelVariable& variable = model.variables[i];
    const ValueId gradient = model.training.gradients.empty() ? kNoValue : model.training.gradients[i];
    if (gradient == kNoValue || variable.l1 != 0 || variable.l2 != 0) continue;
    const Shape shape = model.part_shape(i, 0);
    if (policies[i].aggregation != Aggregation::kMean || shape.elements() < kWorthwhile) continue;
    const auto factors = ops::factors_of(graph, gradient);
    if (!factors) continue;
    const ValueId x = root_of(graph, factors->x), dy = root_of(graph, factors->dy);
    if (!is_usable(graph, x) || !is_usable(graph, dy) || !is_supported(model, i, graph.spec(dy).dtype, kernels))
      continue;
    // With many vectors per example, they are much larger than the gradient, and all of them would be read again.
    if (graph.spec(x).shape.elements() != shape[0]) continue;
    found.push_back({i, x, dy});
  }
  return found;
}

}  // namespace mirrortrain
