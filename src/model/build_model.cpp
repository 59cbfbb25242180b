#include "model/build_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "graph/fuse.h"
#include "model/graphs/forward_builder.h"
#include "model/graphs/model_gradients.h"
#include "model/graphs/objective_builder.h"
#include "model/graphs/score_names.h"
#include "model/loss_fit.h"

namespace mirrortrain {
namespace {

void fuse_ops(ModelGraph& made) {
  std::vector<ValueId*> kept = made.read_values();
  for (ValueId& variable : made.variables) kept.push_back(&variable);
  for (Assignment& assignment : made.assignments) kept.push_back(&assignment.value);
  made.graph = fuse(made.graph, kept);
}

/// [3, 32, 32] would train on images of 3 rows with 32 channels.
void warn_of_channels_first(const ModelOptions& options, config::Errors& errors) {
  const bool has_images = std::ranges::any_of(
      options.layers, [](const auto& layer) { return type_name(layer.value).find("2d") != std::string_view::npos; });
  for (const ModelInputOptions& input : options.all_inputs()) {
    const Shape& shape = input.shape;
    if (!has_images || shape.rank() != 3 || (shape[0] != 1 && shape[0] != 3) || shape[1] <= 4 || shape[2] <= 4)
      continue;
    errors.warn(input.place, input.path,
                fmt::format("[{0}, {1}, {2}] is taken as height {0}, width {1} and {2} channels; images are stored as "
                            "[height, width, channels], here [{1}, {2}, {0}]",
                            shape[0], shape[1], shape[2]));
  }
}

bool has_formulas(const ModelOptions& options, const std::vector<Objective>& objectives) {
  return std::ranges::any_of(
             options.layers,
             [](const auto& layer) { return config::holds_alternative<layers::Expression>(layer.value); }) ||
         std::ranges::any_of(objectives, [](const Objective& objective) {
           return config::holds_alternative<losses::Formula>(objective.loss.value);
         });
}

double weight_of(const Loss& loss) {
  return config::visit([](const auto& options) { return options.weight; }, loss);
}

}  // namespace

Model build_model(const ModelOptions& options, const Wiring& wiring, const std::vector<Objective>& objectives,
                  Precision precision, config::Errors& errors, AggregationMethod aggregation,
                  const PlacesOfModel& places, double loss_scale) {
  Model model;
  const ModelDescription description{options, wiring, objectives, precision, errors};
  model.inputs = wiring.inputs;
  for (std::size_t i = 0; i < objectives.size(); ++i) {
    model.outputs.push_back({wiring.output_name(i), weight_of(objectives[i].loss.value)});
    name_metrics(description, i, model.outputs.back());
  }
  require_distinct_scores(description, model);
  model.has_formulas = has_formulas(options, objectives);
  check_freeze(options, wiring.names, wiring.weights_of, errors);
  check_recompute(options, wiring.names, errors);
  check_reverse_calls(options, wiring, errors);
  if (options.layers.empty() || wiring.inputs.empty() || !wiring.shapes_known) return model;

  ForwardBuilder training(description, Mode::kTraining, model);
  const bool is_whole = training.run();
  if (!is_whole || objectives.size() != wiring.outputs.size() || errors.concern("loss")) return model;
  add_objectives(description, training.layers(), model);
  if (!errors.empty()) return model;
  for (std::size_t i = 0; i < objectives.size(); ++i) {
    const ModelOutput& output = model.training.outputs[i];
    OutputTraits& traits = model.outputs[i];
    const Graph& graph = model.training.graph;
    traits.loss_sums = static_cast<std::size_t>(graph.spec(output.loss).shape.elements());
    traits.largest_label = largest_label(targets_of(objectives[i].loss.value), graph.spec(output.value).shape);
    traits.range = output_range(graph, output.value);
    check_loss_fit(graph, output.value, options, wiring, i, objectives[i], errors);
  }
  warn_of_channels_first(options, errors);
  if (!errors.empty()) return model;
  fuse_ops(model.training);
  ForwardBuilder evaluation(description, Mode::kEvaluation, model);
  evaluation.run();
  add_objectives(description, evaluation.layers(), model);
  fuse_ops(model.evaluation);
  if (places.count > 1) divide_graphs(model, places);
  add_model_gradients(model, {aggregation, options.recomputed_units(wiring.names), loss_scale});
  return model;
}

}  // namespace mirrortrain
