#include "train/session/check_configuration.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "strategy/pipeline_stages.h"
#include "strategy/topology.h"
#include "train/configuration/check_callbacks.h"
#include "train/session/check_data.h"
#include "train/session/check_mesh.h"
#include "train/session/examples_of_model.h"
#include "train/session/run_cluster.h"
#include "train/warnings/option_warnings.h"
#include "train/warnings/unused_options.h"

namespace mirrortrain {
namespace {

void warn_of_nothing_to_train(const Configuration& values, const Model& model, config::Errors& errors) {
  const auto changes = [](const ModelVariable& variable) { return variable.spec.trainable || variable.spectrum; };
  if (std::ranges::any_of(model.variables, changes)) return;
  const auto& freeze = values.model->freeze;
  if (!freeze.value.empty()) {
    return errors.warn(freeze.place, freeze.path,
                       "every layer that has weights is frozen, so training changes nothing; freeze fewer");
  }
  const config::Located<Layer>& last = values.model->layers.back();
  errors.warn(last.place, "model.layers",
              "no layer has weights to train, so training changes nothing; add one, or set trainable: true");
}

void warn_of_no_loss(const Configuration& values, const Model& model, config::Errors& errors) {
  if (std::ranges::any_of(model.outputs, [](const OutputTraits& output) { return output.loss_weight != 0; })) return;
  errors.warn(values.loss->all().front()->place, "loss",
              "every loss has the weight 0, so training minimizes nothing; give one a weight above 0");
}

void warn_of_dropped_outputs(const Configuration& values, const Wiring& wiring, config::Errors& errors) {
  for (const std::size_t output : wiring.outputs) {
    const config::Located<Layer>& last = values.model->layers[output];
    if (!config::holds_alternative<layers::Dropout>(last.value)) continue;
    errors.warn(last.place, last.path,
                "sets outputs of the model to 0 in training, whatever the loss expects; place it before the last layer "
                "that has weights");
  }
}

using BuildModel = std::function<Model(const ModelOptions&, config::Errors&)>;

/// The model's graphs for data.sequences.
void add_lengths(const Configuration& values, Model& model, const BuildModel& build, config::Errors& errors) {
  const auto& [sequences, place, path] = values.data.sequences;
  if (!sequences) return;
  const std::vector<std::int64_t>& lengths = sequences->bucket_boundaries.value;
  const ModelInputOptions input = values.model->all_inputs().front();
  const bool has_steps =
      model.inputs.size() == 1 && input.shape.rank() > 0;  // else add_shorter_graphs says what is wrong
  if (has_steps && lengths.back() >= input.shape[0]) {
    errors.add(sequences->bucket_boundaries.place, sequences->bucket_boundaries.path,
               fmt::format("expected numbers of time steps below {}, those of {}, which the last bucket has; found {}",
                           input.shape[0], input.path, lengths.back()));
    return;
  }
  try {
    add_shorter_graphs(model, *values.model, lengths, build);
  } catch (const Error& error) {
    errors.add(place, path, error.what());
  }
}

/// Rules that read whole gradients write a step's direction in their place.
void check_logged_gradients(const CheckedConfiguration& checked, config::Errors& errors) {
  const LoggingOptions& logging = checked.values().logging;
  const std::string reader =
      logging.reads_gradients() && checked.values().optimizer ? reader_of_wholes(*checked.values().optimizer) : "";
  if (reader.empty()) return;
  const std::string key = logging.gradient_norms ? "logging.gradient_norms" : "logging.gradient_histograms";
  errors.add(checked.place_of(key), key,
             fmt::format("{} writes the direction of a step in place of its gradient, which is gone when the step is "
                         "logged; leave it out{}",
                         reader, other_remedy(reader)));
}

/// Which of the inputs are pictures, the data say; here, whether any can be.
void check_logged_pictures(const CheckedConfiguration& checked, config::Errors& errors) {
  constexpr const char* kKey = "logging.images";
  const auto can_be_picture = [](const data::InputSpec& input) {
    return input.shape.rank() == 2 || (input.shape.rank() == 3 && (input.shape[2] == 1 || input.shape[2] == 3));
  };
  if (checked.values().logging.images == 0 || std::ranges::any_of(checked.examples.inputs, can_be_picture)) return;
  errors.add(checked.place_of(kKey), kKey,
             "expected an input of the model that is a picture, [height, width, 1 or 3], found none; leave it out");
}

/// Workers that compute by themselves would each assign others.
void check_spectra(const CheckedConfiguration& checked, const Wiring& wiring, config::Errors& errors) {
  const std::string refusal(checked.values().strategy.declaration().refuses.assigned_kernels);
  if (refusal.empty()) return;
  for (std::size_t i = 0; i < wiring.names.size(); ++i) {
    const config::Located<Layer>& layer = checked.values().model->layers[i];
    if (!config::holds_alternative<layers::SpectralNormalization>(layer.value)) continue;
    errors.add(layer.place, layer.path, refusal);
  }
}

/// Builds the model and makes all checks of the file that need it.
void check_model(CheckedConfiguration& checked, bool readable, config::Errors& errors) {
  const Configuration& values = checked.values();
  const bool described = values.model && values.loss && values.loss->is_given() && !values.model->layers.empty() &&
                         !values.model->all_inputs().empty() && !errors.concern("model.outputs");
  if (!described) {
    if (!values.model) check_callbacks(values, *checked.model, errors);
    if (!values.model && values.data.sequences.value) {
      errors.add(values.data.sequences.place, values.data.sequences.path,
                 "without a model there is nothing to compute; leave it out");
    }
    return;
  }
  const std::size_t errors_before = errors.count();
  const Wiring wiring = wire_layers(*values.model, errors);
  checked.objectives = objectives_of(wiring, *values.loss, values.metrics, errors);
  for (std::size_t i = 0; i < checked.objectives.size(); ++i) {
    Objective& objective = checked.objectives[i];
    objective.labels = label_traits(values, wiring.output_name(i), objective.loss.value, errors);
  }
  PlacesOfModel places{places_of_model(checked, errors)};
  places.sharding = shardings_of(values.variables, places.count, errors);
  const double loss_scale = values.optimizer ? loss_scale_of(*values.optimizer) : 1;
  const BuildModel build = [&](const ModelOptions& options, config::Errors& found) {
    return build_model(options, wiring, checked.objectives, values.training.precision, found,
                       values.gradients.aggregation_method, places, loss_scale);
  };
  *checked.model = build(*values.model, errors);
  const bool is_whole = errors.count() == errors_before && !errors.concern("model");
  // What callbacks may watch follows from outputs, losses and metrics, whether or not the layers fit together.
  const bool has_scores = !checked.model->outputs.empty() && !errors.concern("metrics");
  if (has_scores && !errors.concern("callbacks") && !errors.concern("checkpoint")) {
    check_callbacks(values, *checked.model, errors);
  }
  if (!is_whole) return;
  if (!errors.concern("optimizer")) check_logged_gradients(checked, errors);
  check_spectra(checked, wiring, errors);
  if (values.strategy.pipeline && !errors.concern("strategy")) {
    check_pipeline(*values.strategy.pipeline, *checked.model, errors);
    if (!errors.concern("strategy")) check_fits_devices(checked, errors);
  }
  if (values.optimizer && !errors.concern("optimizer")) {
    set_updates(*values.optimizer, checked.place_of("optimizer"), *checked.model, errors);
  }
  checked.variables = resolve_variables(*checked.model, values.variables, values.strategy.type, errors);
  if (values.strategy.pipeline) check_aggregations(checked, errors);
  if (const auto& weights = values.model->initial_weights) {
    if (const auto* named = std::get_if<WeightsFile>(&*weights)) {
      check_weight_names(*named, checked.model->variables, errors);
    }
  }
  warn_of_idle_rules(*checked.model, values.variables, errors);
  warn_of_nothing_to_train(values, *checked.model, errors);
  warn_of_no_loss(values, *checked.model, errors);
  warn_of_dropped_outputs(values, wiring, errors);
  warn_of_options(checked, errors);
  if (!readable || !errors.empty()) return;
  checked.examples = example_spec(*checked.model, *values.model, checked.objectives);
  add_lengths(values, *checked.model, build, errors);
  check_logged_pictures(checked, errors);
  data::check_fit(
      values.data, checked.examples, [&](const std::string& path) { return checked.place_of(path); }, errors);
}

/// Checkpoints store `state` variables as state/NAME, in addition to the model's variables; events and the console list
/// them by their names beside the figures.
void check_stored_names(const CheckedConfiguration& checked, config::Errors& errors) {
  std::vector<std::string> figures;
  if (checked.has_model()) figures = checked.model->score_names();
  if (checked.has_model()) figures.emplace_back("loss");
  for (const auto& item : checked.values().state) {
    const std::string_view name = item.value.name;
    if (std::ranges::count(figures, name.starts_with("val_") ? name.substr(4) : name) > 0) {
      errors.add(item.place, item.path, fmt::format("'{}' is a figure of the model; choose another name", name));
    }
    for (const ModelVariable& variable : checked.model->variables) {
      if (variable.spec.name != "state/" + item.value.name) continue;
      errors.add(item.place, item.path, fmt::format("'{}' is a variable of the layer 'state' too", item.value.name));
    }
  }
}

}  // namespace

CheckedConfiguration look_at_configuration(const std::string& file, std::span<const std::string> overrides,
                                           config::Errors& errors, const Environment& environment) {
  CheckedConfiguration checked;
  checked.read = read_configuration(file, overrides, errors);
  checked.model = std::make_unique<Model>();
  const bool readable = errors.empty();
  const Configuration& values = checked.values();
  if (!errors.concern("strategy")) checked.cluster = cluster_of(values, environment);
  check_model(checked, readable, errors);
  const strategies::Declaration& strategy = values.strategy.declaration();
  const bool replicas_are_known = strategy.has_servers || checked.cluster || !strategy.on_cluster;
  if (!values.state.empty() && replicas_are_known && !errors.concern("strategy")) {
    // With parameter servers, it is one plain copy, which the chief writes.
    const int replicas = strategy.has_servers ? 1
                                              : count_replicas(values.strategy, values.data.global_batch_size,
                                                               this_machine(checked.cluster), count_workers(checked));
    check_state(values.state, replicas, errors);
  }
  check_stored_names(checked, errors);
  if (!errors.concern("strategy")) warn_of_unused_options(checked, errors);
  return checked;
}

CheckedConfiguration check_configuration(const std::string& file, std::span<const std::string> overrides,
                                         const Environment& environment) {
  config::Errors errors;
  CheckedConfiguration checked = look_at_configuration(file, overrides, errors, environment);
  check_given_steps(checked, errors);
  errors.throw_if_any();
  checked.warnings = errors.warnings();
  return checked;
}

std::string variables_text(const CheckedConfiguration& checked, const std::string& indent, const Model* in_parts,
                           const std::vector<int>& owners) {
  if (!checked.has_model()) return "";
  const Model& model = in_parts != nullptr ? *in_parts : *checked.model;
  const auto& pipeline = checked.values().strategy.pipeline;
  std::vector<std::string> workers;  // by variable
  if (const std::optional<StagesOfWorkers> stages = stages_of_workers(checked)) {
    for (const int in_row : workers_of_variables(model, *stages)) {
      std::vector<int> all;  // of all replicas
      for (int worker = in_row; worker < count_workers(checked); worker += stages->workers) all.push_back(worker);
      workers.push_back(fmt::format("{}", fmt::join(all, ", ")));
    }
  }
  return variable_table(model, checked.variables,
                        pipeline ? stages_of_layers(*pipeline, model) : std::map<std::string, int>(), workers, owners,
                        indent);
}

}  // namespace mirrortrain
