#include "strategy/steps/lane_programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "graph/ops/collective.h"
#include "runtime/arena.h"
#include "strategy/steps/pipeline.h"

namespace mirrortrain {

const ModelGraph& LanePrograms::graph_of(StepKind kind, std::int64_t length) const {
  return model_.graph(kind == StepKind::kTrain, place_, length);
}

/// The outputs of a program: the step's sums, and when training gradients and assigned values. If the update computes a
/// gradient itself, the program outputs its operands instead.
std::vector<ValueId> LanePrograms::outputs_of(StepKind kind) const {
  const bool train = kind == StepKind::kTrain;
  const ModelGraph& graph = graph_of(kind);
  std::vector<ValueId> outputs;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const ModelOutput& own = graph.outputs[i];
    outputs.push_back(own.loss);
    outputs.insert(outputs.end(), own.metrics.begin(), own.metrics.end());
    if (train || !keeps_outputs_) continue;
    if (computes_output(i) && first_of_output(i) == i) outputs.push_back(output(i));
    if (own.mask != kNoValue) outputs.push_back(own.mask);
  }
  if (graph.penalty != kNoValue) outputs.push_back(graph.penalty);
  std::vector<ValueId> gradients = graph.gradients;
  if (train) {
    for (const std::size_t variable : deferred_.variables()) gradients[variable] = kNoValue;
    std::ranges::copy_if(deferred_.operands(), std::back_inserter(outputs),
                         [&](ValueId operand) { return graph.graph.value(operand).source == Graph::Source::kNode; });
  }
  for (const ValueId gradient : gradients) {
    if (gradient != kNoValue) outputs.push_back(gradient);
  }
  for (const Assignment& assignment : graph.assignments) outputs.push_back(assignment.value);
  for (const ops::PlacedCollective& one : ops::collectives_of(graph.graph)) {
    // A variable's part is read by the collective itself.
    std::ranges::copy_if(one.inputs, std::back_inserter(outputs),
                         [&](ValueId input) { return graph.graph.value(input).source != Graph::Source::kVariable; });
  }
  if (const StageGraph* const others = exchanged(kind)) {
    for (const auto* sent : {&others->after.up, &others->before.down}) {
      std::ranges::copy_if(*sent, std::back_inserter(outputs),
                           [&](ValueId value) { return std::ranges::count(outputs, value) == 0; });
    }
    std::erase_if(outputs, [&](ValueId value) { return !has(kind, value); });
  }
  return outputs;
}

bool LanePrograms::has(StepKind kind, ValueId value) const {
  const Graph& graph = graph_of(kind).graph;
  while (graph.value(value).source == Graph::Source::kNode) {
    const NodeId producer = graph.value(value).producer;
    if (producer < 0) return false;
    if (!graph.node(producer).op->is_alias()) return true;
    value = graph.node(producer).inputs[0];
  }
  return true;
}

std::optional<StageRanges> LanePrograms::steps_of_stages(StepKind kind, const std::map<std::string, int>& layers,
                                                         int count) const {
  if (of(kind).empty()) return std::nullopt;
  const StageGraph* const part = exchanged(kind);
  if (part == nullptr) return stage_steps(of(kind).begin()->second, layers, count, kind == StepKind::kTrain);
  // The whole graph's nodes before a position are as many steps here.
  const std::vector<std::size_t>& origins = step_origins_[static_cast<std::size_t>(kind)];
  return part->nodes.at([&](std::size_t position) {
    return static_cast<std::size_t>(std::ranges::lower_bound(origins, position) - origins.begin());
  });
}

/// Merging replaces nodes by those that come last of them, and keeps their order.
std::vector<std::size_t> LanePrograms::origins_of_steps(StepKind kind, const Graph& merged) const {
  const Graph& own = graph_of(kind).graph;
  const Liveness live = liveness_of(merged, outputs_of(kind));
  std::vector<std::size_t> origins;
  std::size_t later = exchanged(kind)->origin.empty() ? 0 : exchanged(kind)->origin.back();
  for (std::size_t i = merged.nodes().size(); i-- > 0;) {
    const Node& node = merged.nodes()[i];
    if (!is_step(node, live)) continue;
    // One whose values merging has added belongs to what reads them.
    if (index(node.outputs[0]) < own.values().size()) {
      later = exchanged(kind)->origin[static_cast<std::size_t>(own.value(node.outputs[0]).producer)];
    }
    origins.push_back(later);
  }
  std::ranges::reverse(origins);
  return origins;
}

std::vector<std::pair<int, bool>> LanePrograms::stages_of_collectives(StepKind kind, const StageRanges& steps,
                                                                      int count) const {
  std::vector<std::pair<int, bool>> turns;  // of stages, in the order of a microbatch
  for (int stage = 0; stage < count; ++stage) turns.emplace_back(stage, false);
  for (int stage = count - 1; kind == StepKind::kTrain && stage >= 0; --stage) turns.emplace_back(stage, true);
  std::vector<std::pair<int, bool>> found;
  const auto add_first = [&](const auto& has) {
    const auto turn = std::ranges::find_if(turns, [&](const auto& one) { return has(one.first, one.second); });
    if (turn == turns.end()) throw Error("a collective is in no stage of the pipeline");
    found.push_back(*turn);
  };
  if (const StageGraph* const part = exchanged(kind)) {
    const std::vector<Node>& nodes = graph_of(kind).graph.nodes();
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      if (!nodes[node].op->is_collective()) continue;
      add_first([&](int stage, bool backward) { return part->nodes.of(stage, backward).has(part->origin[node]); });
    }
    return found;
  }
  // One that is between two stages is the earlier one's.
  for (const std::size_t end : segment_ends(kind)) {
    add_first([&](int stage, bool backward) {
      const auto [first, last] = steps.of(stage, backward);
      return end <= last && (first < end || end == 0);
    });
  }
  return found;
}

bool LanePrograms::is_assigned_without_rows(std::size_t assignment) const {
  return !graph_of(StepKind::kTrain).graph.depends_on_rows(graph_of(StepKind::kTrain).assignments[assignment].value);
}

std::vector<ValueId> LanePrograms::outputs_without_rows() const {
  std::vector<ValueId> outputs;
  for (std::size_t i = 0; i < graph_of(StepKind::kTrain).assignments.size(); ++i) {
    if (is_assigned_without_rows(i)) outputs.push_back(graph_of(StepKind::kTrain).assignments[i].value);
  }
  return outputs;
}

ValueId LanePrograms::output(std::size_t number) const {
  const Graph& graph = graph_of(StepKind::kEvaluate).graph;
  ValueId value = graph_of(StepKind::kEvaluate).outputs[number].value;
  while (graph.value(value).source == Graph::Source::kNode && graph.value(value).producer >= 0 &&
         graph.node(graph.value(value).producer).op->is_alias()) {
    value = graph.node(graph.value(value).producer).inputs[0];
  }
  return value;
}

std::size_t LanePrograms::first_of_output(std::size_t number) const {
  std::size_t first = 0;
  while (output(first) != output(number)) ++first;
  return first;
}

void LanePrograms::build(const RowCounts& rows, Device& device) {
  keeps_outputs_ = rows.keeps_outputs;
  if (model_.layers.empty()) return;
  registry_ = backend_.make_registry(device);
  for (const StepKind kind : {StepKind::kTrain, StepKind::kEvaluate}) {
    const std::set<std::int64_t>& counts = kind == StepKind::kTrain ? rows.train : rows.evaluate;
    const Graph merged = backend_.merged(graph_of(kind).graph, outputs_of(kind));
    for (const ModelInput& input : graph_of(kind).inputs) {
      input_dtypes_[static_cast<std::size_t>(kind)].push_back(merged.spec(input.value).dtype);
    }
    if (stages_ != nullptr) step_origins_[static_cast<std::size_t>(kind)] = origins_of_steps(kind, merged);
    build_for(counts, kind, 0, merged, device.threads());
    for (const ShorterGraphs& of_length : model_.shorter) {
      const std::int64_t length = of_length.length;
      const Graph shorter = backend_.merged(graph_of(kind, length).graph, outputs_of(kind));
      if (!same_but_for_shapes(merged, shorter)) {
        throw Error(fmt::format(
            "data.sequences: {} merges other layers at {} steps than at all of them; leave this boundary out",
            device.id().text(), length));
      }
      build_for(counts, kind, length, shorter, device.threads());
    }
  }
}

void LanePrograms::build_for(const std::set<std::int64_t>& rows, StepKind kind, std::int64_t length,
                             const Graph& merged, int threads) {
  BySize& programs = kind == StepKind::kTrain ? train_ : evaluate_;
  for (const std::int64_t count : rows) {
    if (count > 0) {
      programs.try_emplace({count, length}, merged, count, outputs_of(kind), *registry_, threads);
    } else if (kind == StepKind::kTrain && length == 0 && !outputs_without_rows().empty()) {
      without_rows_.emplace(merged, 0, outputs_without_rows(), *registry_, threads);
    }
  }
}

std::int64_t LanePrograms::most_rows() const {
  std::int64_t rows = 0;
  for (const BySize* programs : {&train_, &evaluate_}) {
    if (!programs->empty()) rows = std::max(rows, programs->rbegin()->first.rows);
  }
  return rows;
}

std::size_t LanePrograms::arena_bytes() const {
  std::size_t bytes = 0;
  for (const BySize* programs : {&train_, &evaluate_}) {
    for (const auto& [size, program] : *programs) bytes = std::max(bytes, program.arena_bytes());
  }
  if (without_rows_) bytes = std::max(bytes, without_rows_->arena_bytes());
  return bytes;
}

std::optional<std::size_t> LanePrograms::gradient_complete_after(std::size_t variable) const {
  const ValueId gradient = graph_of(StepKind::kTrain).gradients[variable];
  if (train_.empty() || gradient == kNoValue || !has(StepKind::kTrain, gradient)) return std::nullopt;
  return train_.begin()->second.complete_after(gradient);
}

std::optional<std::size_t> LanePrograms::first_read(std::size_t variable) const {
  const ValueId value = graph_of(StepKind::kTrain).variables[variable];
  if (train_.empty() || value == kNoValue) return std::nullopt;
  return train_.begin()->second.first_read(value);
}

std::vector<std::size_t> LanePrograms::segment_ends(StepKind kind) const {
  return of(kind).empty() ? std::vector<std::size_t>() : of(kind).begin()->second.segment_ends();
}

}  // namespace mirrortrain
