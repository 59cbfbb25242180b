#include "model/places.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/ops/collective.h"
#include "graph/partition.h"

namespace mirrortrain {
namespace {

using Shardings = std::vector<std::optional<Sharding>>;

/// A place's part of a forward graph, and how its variables are divided: what `known` leaves open is chosen, by every
/// place alike.
std::pair<ModelGraph, Shardings> part_of_graph(ModelGraph whole, const ModelPlace& place, const Shardings& known,
                                               ChosenWays& ways) {
  ShardedVariables variables{{}, known};
  for (ValueId& variable : whole.variables) variables.ids.push_back(&variable);
  KeptValues kept{whole.read_values(), {}};
  for (Assignment& assignment : whole.assignments) kept.written.emplace_back(&assignment.value, assignment.variable);
  whole.graph = partition(whole.graph, place, variables, kept, &ways);
  return {std::move(whole), std::move(variables.shardings)};
}

}  // namespace

void divide_graphs(Model& model, const PlacesOfModel& places) {
  Shardings known, shardings;
  for (const ModelVariable& variable : model.variables) {
    known.push_back(places.sharding ? places.sharding(variable) : std::nullopt);
  }
  ModelGraph training = std::move(model.training);
  const ModelGraph evaluation = std::move(model.evaluation);
  for (ModelOutput& output : training.outputs) output.value = kNoValue;  // a place may have but a part of the classes
  for (int place = 0; place < places.count; ++place) {
    PlaceGraphs parts;
    std::tie(parts.training, shardings) = part_of_graph(training, {place, places.count}, known, places.ways->training);
    parts.evaluation = part_of_graph(evaluation, {place, places.count}, shardings, places.ways->evaluation).first;
    if (place > 0) {
      model.other_places.push_back(std::move(parts));
    } else {
      model.training = std::move(parts.training);
      model.evaluation = std::move(parts.evaluation);
    }
  }
  for (std::size_t i = 0; i < shardings.size(); ++i) model.variables[i].sharding = *shardings[i];
}

std::uint64_t exchanged_bytes(const ValueSpec& value, std::int64_t examples, int microbatches) {
  return value.bytes_at(examples) * static_cast<std::uint64_t>(value.batched ? 1 : microbatches);
}

std::vector<Exchange> exchanges_of_places(const Model& model, std::int64_t examples, int microbatches) {
  const Graph& graph = model.training.graph;
  std::vector<Exchange> exchanges;
  for (const Node& node : graph.nodes()) {
    const auto* const collective = dynamic_cast<const ops::Collective*>(node.op.get());
    if (collective == nullptr || collective->axis != ops::Axis::kModel) continue;
    const auto known = std::ranges::find_if(
        exchanges, [&](const Exchange& one) { return one.layer == node.layer && one.collective == node.op->name(); });
    const std::uint64_t bytes = exchanged_bytes(graph.spec(node.inputs[0]), examples, microbatches);
    if (known != exchanges.end()) {
      known->bytes += bytes;
    } else {
      exchanges.push_back({node.layer, std::string(node.op->name()), bytes});
    }
  }
  return exchanges;
}

}  // namespace mirrortrain
