#include "strategy/reduction/deferred_gradients.h"

#include <algorithm>

#include "graph/ops/collective.h"
#include "graph/ops/dense.h"

namespace mirrortrain {
namespace {

/// With fewer elements, storing a gradient is as fast as computing it in the update.
constexpr std::int64_t kWorthwhile = 16 * 1024;

/// A table has at least so many times the elements of a step's sparse gradient.
constexpr std::int64_t kSparseTimes = 4;

/// The number of rows is a float (SparseRows).
constexpr std::int64_t kMostSparseLookups = 1 << 24;

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

/// The table's sparse gradient; without lookups if it has none.
SparseGradient sparse_gradient_of(const Model& model, std::size_t variable) {
  SparseGradient sparse;
  sparse.variable = variable;
  const Graph& graph = model.training.graph;
  for (const auto& [numbers, dy] : ops::lookup_terms(graph, model.training.gradients[variable])) {
    const ops::LookupTerm own{root_of(graph, numbers), root_of(graph, dy)};
    if (!is_usable(graph, own.numbers) || !is_usable(graph, own.dy)) return {};
    sparse.lookups.push_back(own);
    sparse.per_example += graph.spec(own.numbers).shape.elements();
  }
  return sparse;
}

}  // namespace

std::vector<std::size_t> DeferredGradients::variables() const {
  std::vector<std::size_t> all;
  for (const ProductGradient& product : products) all.push_back(product.variable);
  for (const SparseGradient& table : sparse) all.push_back(table.variable);
  return all;
}

std::vector<ValueId> DeferredGradients::operands() const {
  std::vector<ValueId> all;
  for (const ProductGradient& product : products) all.insert(all.end(), {product.x, product.dy});
  for (const SparseGradient& table : sparse) {
    for (const auto& [numbers, dy] : table.lookups) all.insert(all.end(), {numbers, dy});
  }
  return all;
}

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

std::vector<SparseGradient> find_sparse_gradients(const Model& model, const std::vector<VariablePolicy>& policies,
                                                  const StepKernels& kernels, const StrategyOptions& options,
                                                  const Topology& topology, std::int64_t examples) {
  std::vector<SparseGradient> found;
  const Mesh& mesh = topology.mesh;
  if (topology.on_gpus() || mesh.stages > 1 || mesh.places() > static_cast<int>(kMostSparseRows)) return found;
  // An update of a part of a table reads its dense gradient.
  if (options.optimizer_state != OptimizerState::kReplicated && topology.memories_of_parts() > 1) return found;
  if (!kernels.supports_sparse() || model.places() > 1 || model.training.gradients.empty()) return found;
  for (std::size_t i = 0; i < model.variables.size(); ++i) {
    const ModelVariable& variable = model.variables[i];
    const Shape& shape = variable.spec.shape;
    if (model.training.gradients[i] == kNoValue || variable.l1 != 0 || variable.l2 != 0) continue;
    if (policies[i].copies_can_differ() || variable.data_parts > 1 || shape.rank() != 2) continue;
    if (shape.elements() < kWorthwhile) continue;
    SparseGradient table = sparse_gradient_of(model, i);
    if (table.lookups.empty()) continue;
    if (examples * table.per_example >= kMostSparseLookups) continue;
    const std::int64_t elements = table.elements(shape, examples);
    if (elements > 0 && elements <= shape.elements() / kSparseTimes) found.push_back(std::move(table));
  }
  return found;
}

}  // namespace mirrortrain
