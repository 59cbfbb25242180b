#include "strategy/steps/lane_programs.h"

#include <algorithm>

namespace mirrortrain {

/// What a program writes for the step: sums, and when training gradients and new values of variables. Where the update
/// makes a gradient itself, the program leaves what it is made from.
std::vector<ValueId> LanePrograms::outputs_of(StepKind kind) const {
  const bool train = kind == StepKind::kTrain;
  const ModelGraph& graph = graph_of(kind);
  std::vector<ValueId> outputs{graph.loss};
  outputs.insert(outputs.end(), graph.metrics.begin(), graph.metrics.end());
  if (!train && keeps_output_ && computes_output()) {
    outputs.push_back(output());
  }
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
  for (const ReplicaSum& sum : graph.graph.replica_sums()) outputs.push_back(sum.own);
  return outputs;
}

bool LanePrograms::is_assigned_without_rows(std::size_t assignment) const {
  return !model_.training.graph.depends_on_rows(model_.training.assignments[assignment].value);
}

std::vector<ValueId> LanePrograms::outputs_without_rows() const {
  std::vector<ValueId> outputs;
  for (std::size_t i = 0; i < model_.training.assignments.size(); ++i) {
    if (is_assigned_without_rows(i)) outputs.push_back(model_.training.assignments[i].value);
  }
  return outputs;
}

ValueId LanePrograms::output() const {
  const Graph& graph = model_.evaluation.graph;
  ValueId value = model_.evaluation.output;
  while (graph.value(value).source == Graph::Source::kNode && graph.node(graph.value(value).producer).op->is_alias()) {
    value = graph.node(graph.value(value).producer).inputs[0];
  }
  return value;
}

void LanePrograms::build(const RowCounts& rows, Device& device) {
  keeps_output_ = rows.keeps_output;
  if (model_.layers.empty()) return;
  registry_ = backend_.make_registry(device);
  const auto build_for = [&](const std::set<std::int64_t>& counts, StepKind kind, ByRows& programs) {
    const ModelGraph& graph = graph_of(kind);
    const Graph merged = backend_.merged(graph.graph, outputs_of(kind));
    features_dtype_[static_cast<std::size_t>(kind)] = merged.spec(graph.features).dtype;
    for (const std::int64_t count : counts) {
      if (count > 0) {
        programs.try_emplace(count, merged, count, outputs_of(kind), *registry_, device.threads());
      } else if (kind == StepKind::kTrain && !outputs_without_rows().empty()) {
        without_rows_.emplace(merged, 0, outputs_without_rows(), *registry_, device.threads());
      }
    }
  };
  build_for(rows.train, StepKind::kTrain, train_);
  build_for(rows.evaluate, StepKind::kEvaluate, evaluate_);
}

std::int64_t LanePrograms::most_rows() const {
  std::int64_t rows = 0;
  for (const ByRows* programs : {&train_, &evaluate_}) {
    if (!programs->empty()) rows = std::max(rows, programs->rbegin()->first);
  }
  return rows;
}

std::size_t LanePrograms::arena_bytes() const {
  std::size_t bytes = 0;
  for (const ByRows* programs : {&train_, &evaluate_}) {
    for (const auto& [rows, program] : *programs) bytes = std::max(bytes, program.arena_bytes());
  }
  if (without_rows_) bytes = std::max(bytes, without_rows_->arena_bytes());
  return bytes;
}

std::optional<std::size_t> LanePrograms::gradient_complete_after(std::size_t variable) const {
  const ValueId gradient = model_.training.gradients[variable];
  if (train_.empty() || gradient == kNoValue) return std::nullopt;
  return train_.begin()->second.complete_after(gradient);
}

std::vector<std::size_t> LanePrograms::sums_complete_after() const {
  std::vector<std::size_t> steps;
  for (const ReplicaSum& sum : model_.training.graph.replica_sums()) {
    if (!train_.empty()) steps.push_back(train_.begin()->second.complete_after(sum.own));
  }
  return steps;
}

}  // namespace mirrortrain
