#include "strategy/pipeline_stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "config/known_names.h"
#include "graph/ops/collective.h"

namespace mirrortrain {
namespace {

/// The number of the model's layer with this name.
std::optional<std::size_t> layer_of(const std::string& name, const Model& model) {
  const auto found = std::ranges::find(model.layers, name, &LayerSummary::name);
  return found == model.layers.end() ? std::nullopt : std::optional<std::size_t>(found - model.layers.begin());
}

std::vector<std::string> names_of_layers(const Model& model) {
  std::vector<std::string> names;
  for (const LayerSummary& layer : model.layers) names.push_back(layer.name);
  return names;
}

void check_stages(const PipelineOptions& options, const Model& model, config::Errors& errors) {
  const auto& [names, place, path] = options.split_before;
  std::size_t before = 0;  // the layer of the last name that is one
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", path, i);
    const std::optional<std::size_t> layer = layer_of(names[i], model);
    if (!layer) {
      errors.add(place, at,
                 fmt::format("'{}' is no layer and no use of a block{}", names[i],
                             config::suggestion_or_known(names[i], names_of_layers(model))));
      continue;
    }
    if (*layer == 0) {
      errors.add(place, at,
                 fmt::format("'{}' is the first layer, so that the stage before it would have none; name a later one",
                             names[i]));
    } else if (i > 0 && *layer == before) {
      errors.add(place, at, fmt::format("'{}' begins a stage already; name each layer once", names[i]));
    } else if (i > 0 && *layer < before) {
      errors.add(place, at,
                 fmt::format("'{}' comes before '{}' in model.layers; list the layers in the model's order", names[i],
                             names[i - 1]));
    }
    before = *layer;
  }
}

}  // namespace

std::map<std::string, int> stages_of_layers(const PipelineOptions& options, const Model& model) {
  std::map<std::string, int> stages;
  int stage = 0;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const auto& names = options.split_before.value;
    while (stage < static_cast<int>(names.size()) && layer_of(names[static_cast<std::size_t>(stage)], model) == i) {
      ++stage;
    }
    stages[model.layers[i].name] = stage;
  }
  return stages;
}

StageRanges::StageRanges(const std::vector<int>& stages, int count, bool trains) {
  const std::size_t items = stages.size();
  // Where stage i or a later one first appears, and where one last does.
  std::vector<std::size_t> first(static_cast<std::size_t>(count) + 1, items),
      end(static_cast<std::size_t>(count) + 1, 0);
  for (std::size_t item = 0; item < items; ++item) {
    for (int stage = 0; stage <= stages[item]; ++stage) {
      first[static_cast<std::size_t>(stage)] = std::min(first[static_cast<std::size_t>(stage)], item);
      end[static_cast<std::size_t>(stage)] = item + 1;
    }
  }
  first[0] = 0;
  end[0] = items;
  for (std::size_t stage = 1; trains && stage < static_cast<std::size_t>(count); ++stage) {
    if (first[stage] < end[stage]) continue;
    first[stage] = end[stage] = first[stage - 1];  // it has none
  }
  for (std::size_t stage = 0; stage < static_cast<std::size_t>(count); ++stage) {
    const bool is_last = stage + 1 == static_cast<std::size_t>(count);
    const std::size_t all = trains ? end[stage] : items;
    forward_.push_back({first[stage], is_last ? all : first[stage + 1]});
    backward_.push_back({is_last ? all : end[stage + 1], all});
  }
}

void check_pipeline(const PipelineOptions& options, const Model& model, config::Errors& errors) {
  check_stages(options, model, errors);
  const auto refuse = [&](const std::string& why) { errors.add(options.split_before.place, "strategy.pipeline", why); };
  if (!model.training.assignments.empty()) {
    const std::string& name = model.variables[model.training.assignments.front().variable].spec.name;
    return refuse(
        fmt::format("'{}' is a statistic of a replica's whole part of the batch, which a pipeline computes in "
                    "microbatches; use layer_normalization or group_normalization, freeze the layer, or leave pipeline "
                    "out",
                    name));
  }
  const auto has_mask = [](const ModelOutput& output) { return output.mask != kNoValue; };
  if (std::ranges::any_of(model.training.outputs, has_mask)) {
    return refuse(
        "the loss leaves padding out, so that it is divided by the tokens of the whole batch, which is not known when "
        "the first microbatch is computed; leave pipeline out, or the masks");
  }
  std::vector<ops::PlacedCollective> collectives = ops::collectives_of(model.training.graph);
  // The places of a replica compute the same microbatch.
  std::erase_if(collectives, [](const ops::PlacedCollective& one) { return one.op->axis == ops::Axis::kModel; });
  if (collectives.empty()) return;
  const Graph& graph = model.training.graph;
  refuse(
      fmt::format("'{}' computes with sums over the whole batch, of which a pipeline has one microbatch at a time; "
                  "leave pipeline out",
                  graph.node(graph.value(collectives.front().outputs.front()).producer).layer));
}

}  // namespace mirrortrain
