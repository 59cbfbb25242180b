#include "strategy/lane.h"

#include <algorithm>

#include "device/cpu/cpu_device.h"

namespace mirrortrain {
namespace {

std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }

}  // namespace

Lane::Lane(const LanePlacement& placement, const Model& model, const std::vector<ProductGradient>& products)
    : model_(model),
      products_(products),
      device_(make_cpu_device(placement.device.index, placement.threads, placement.cores)),
      stream_(device_->make_stream()) {
  for (const int replica : placement.replicas) {
    replicas_.emplace_back();
    replicas_.back().index = replica;
  }
}

/// What a program writes for the step: sums, and when training gradients and new values of variables. Where the update
/// makes a gradient itself, the program leaves what it is made from.
std::vector<ValueId> Lane::outputs_of(StepKind kind) const {
  const bool train = kind == StepKind::kTrain;
  const ModelGraph& graph = train ? model_.training : model_.evaluation;
  std::vector<ValueId> outputs{graph.loss};
  outputs.insert(outputs.end(), graph.metrics.begin(), graph.metrics.end());
  std::vector<ValueId> gradients = graph.gradients;
  for (std::size_t i = 0; train && i < products_.size(); ++i) {
    gradients[products_[i].variable] = kNoValue;
    for (const ValueId operand : {products_[i].x, products_[i].dy}) {
      if (graph.graph.value(operand).source == Graph::Source::kNode) outputs.push_back(operand);
    }
  }
  for (const ValueId gradient : gradients) {
    if (gradient != kNoValue) outputs.push_back(gradient);
  }
  for (const Assignment& assignment : graph.assignments) outputs.push_back(assignment.value);
  return outputs;
}

void Lane::build(const RowCounts& rows, const KernelRegistry& registry) {
  if (model_.layers.empty()) return;
  const auto build_for = [&](const std::set<std::int64_t>& counts, const Graph& graph, StepKind kind,
                             Programs& programs) {
    for (const std::int64_t count : counts) {
      if (count > 0) programs.try_emplace(count, graph, count, outputs_of(kind), registry, device_->threads());
    }
  };
  build_for(rows.train, model_.training.graph, StepKind::kTrain, train_);
  build_for(rows.evaluate, model_.evaluation.graph, StepKind::kEvaluate, evaluate_);
}

void Lane::bind(const VariableStore& variables, DerivedCopies& derived) {
  if (model_.layers.empty()) return;
  std::size_t arena_bytes = 0;
  std::int64_t rows = 0;
  for (const Programs* programs : {&train_, &evaluate_}) {
    for (const auto& [count, program] : *programs) {
      arena_bytes = std::max(arena_bytes, program.arena_bytes());
      rows = std::max(rows, count);
    }
  }
  arena_ = device_->allocate(arena_bytes);
  for (Replica& replica : replicas_) {
    allocate(replica, rows);
    bind_programs(replica, StepKind::kTrain, variables, derived);
    bind_programs(replica, StepKind::kEvaluate, variables, derived);
  }
}

void Lane::allocate(Replica& replica, std::int64_t rows) {
  const ModelGraph& graph = model_.training;
  replica.features = device_->allocate(graph.graph.spec(graph.features).bytes_at(rows));
  replica.labels = device_->allocate(graph.graph.spec(graph.labels).bytes_at(rows));
  replica.sums = device_->allocate((1 + graph.metrics.size()) * sizeof(double));
  std::size_t assigned = 0;
  for (const Assignment& assignment : graph.assignments) assigned += graph.graph.spec(assignment.value).bytes_at(rows);
  replica.assigned = device_->allocate(assigned);
  for (const ProductGradient& product : products_) {
    for (const ValueId operand : {product.x, product.dy}) {
      if (graph.graph.value(operand).source != Graph::Source::kNode || replica.operands.contains(operand)) continue;
      replica.operands.emplace(operand, device_->allocate(graph.graph.spec(operand).bytes_at(rows)));
    }
  }
  std::byte* next = replica.assigned.data();
  for (const Assignment& assignment : graph.assignments) {
    replica.assigned_values.push_back(next);
    next += graph.graph.spec(assignment.value).bytes_at(rows);
  }
}

void Lane::bind_programs(Replica& replica, StepKind kind, const VariableStore& variables, DerivedCopies& derived) {
  const bool train = kind == StepKind::kTrain;
  const ModelGraph& graph = train ? model_.training : model_.evaluation;
  Bindings bindings;
  bindings.values.resize(graph.graph.values().size());
  const auto bind = [&](ValueId id, void* data) { bindings.values[index(id)] = static_cast<std::byte*>(data); };

  const auto canonical = [&](std::size_t variable) {
    TensorView view = variables.variables()[variable].copy(replica.index);
    if (!train) view.data = reinterpret_cast<std::byte*>(variables.evaluation_copy(variable));
    return view;
  };

  bind(graph.features, replica.features.data());
  bind(graph.labels, replica.labels.data());
  bind(graph.loss, replica.sums.as<double>());
  for (std::size_t i = 0; i < graph.metrics.size(); ++i) bind(graph.metrics[i], replica.sums.as<double>() + 1 + i);
  for (std::size_t i = 0; i < graph.variables.size(); ++i) {
    bind(graph.variables[i], canonical(i).data);
    if (train && graph.gradients[i] != kNoValue) bind(graph.gradients[i], variables.gradient(i, replica.index));
  }
  if (train) {
    for (const auto& [operand, buffer] : replica.operands) bind(operand, buffer.data());
  }
  for (std::size_t i = 0; i < graph.assignments.size(); ++i) {
    bind(graph.assignments[i].value, replica.assigned_values[i]);
  }
  bindings.arena = arena_.data();
  bindings.step = replica.scalars.get();

  auto& bound = replica.programs(kind);
  bound.clear();
  for (const auto& [rows, program] : train ? train_ : evaluate_) {
    bindings.derived.clear();
    for (const DerivedCopy& copy : program.derived_copies()) {
      const auto position = std::find(graph.variables.begin(), graph.variables.end(), copy.variable);
      const auto variable = static_cast<std::size_t>(position - graph.variables.begin());
      bindings.derived.push_back(derived.request(canonical(variable), copy.form));
    }
    const ValueSpec &features = graph.graph.spec(graph.features), &labels = graph.graph.spec(graph.labels);
    bound.emplace(rows, ReplicaProgram{{features.dtype, features.shape_at(rows), replica.features.data()},
                                       {labels.dtype, labels.shape_at(rows), replica.labels.data()},
                                       BoundProgram(program, bindings)});
  }
}

const float* Lane::operand(const Replica& replica, ValueId value) const {
  const auto own = replica.operands.find(value);
  return own != replica.operands.end() ? own->second.as<float>() : replica.features.as<float>();
}

std::optional<std::size_t> Lane::gradient_complete_after(std::size_t variable) const {
  const ValueId gradient = model_.training.gradients[variable];
  if (train_.empty() || gradient == kNoValue) return std::nullopt;
  return train_.begin()->second.complete_after(gradient);
}

std::size_t Lane::bytes() const {
  std::size_t total = arena_.bytes();
  for (const Replica& replica : replicas_) {
    total += replica.features.bytes() + replica.labels.bytes() + replica.sums.bytes() + replica.assigned.bytes();
    for (const auto& [value, buffer] : replica.operands) total += buffer.bytes();
  }
  return total;
}

}  // namespace mirrortrain
