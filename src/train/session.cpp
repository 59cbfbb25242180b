#include "train/session.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/error.h"
#include "device/cpu/cpu_device.h"
#include "train/weights.h"

namespace mirrortrain {
namespace {

data::InputSpec input_spec(const Model& model) {
  const ModelGraph& graph = model.training;
  const ValueSpec& labels = graph.graph.spec(graph.labels);
  data::InputSpec spec{graph.graph.spec(graph.features).shape, labels.shape, labels.dtype, 0, false};
  if (labels.dtype == DType::kInt32) {
    spec.classes = model.largest_label.value_or(-1) + 1;
  } else {
    spec.probabilities = model.largest_label.has_value();
  }
  return spec;
}

std::unique_ptr<data::Feeder> feeder_for(const CheckedConfiguration& checked, const data::Dataset& dataset) {
  return std::make_unique<data::Feeder>(dataset, checked.values().data.preprocessing, checked.input);
}

std::unique_ptr<data::Feeder> feeder_for(const CheckedConfiguration& checked,
                                         const std::optional<data::Dataset>& dataset) {
  return dataset ? feeder_for(checked, *dataset) : nullptr;
}

/// Builds the model and looks at everything that the file shows together with it.
void check_model(CheckedConfiguration& checked, bool readable, config::Errors& errors) {
  const Configuration& values = checked.values();
  const bool described =
      values.model && values.loss && !values.model->layers.empty() && !values.model->input_shape.value.empty();
  if (!described) return;
  const std::size_t errors_before = errors.count();
  *checked.model = build_model(*values.model, *values.loss, values.metrics, values.training.precision, errors,
                               values.gradients.aggregation_method);
  if (errors.count() != errors_before || errors.concern("model")) return;
  checked.variables = resolve_variables(*checked.model, values.variables, values.strategy.type, errors);
  if (!readable || !errors.empty()) return;
  checked.input = input_spec(*checked.model);
  data::check_fit(values.data, checked.input, errors);
}

/// A checkpoint stores `state` variables as state/NAME, beside the model's variables.
void check_stored_names(const CheckedConfiguration& checked, config::Errors& errors) {
  for (const auto& item : checked.values().state) {
    for (const ModelVariable& variable : checked.model->variables) {
      if (variable.spec.name != "state/" + item.value.name) continue;
      errors.add(item.place, item.path, fmt::format("'{}' is a variable of the layer 'state' too", item.value.name));
    }
  }
}

}  // namespace

std::vector<VariablePolicy> CheckedConfiguration::policies() const {
  std::vector<VariablePolicy> policies;
  for (const ResolvedVariable& variable : variables) policies.push_back(variable.policy);
  return policies;
}

CheckedConfiguration check_configuration(const std::string& file, std::span<const std::string> overrides) {
  config::Errors errors;
  CheckedConfiguration checked{read_configuration(file, overrides, errors), std::make_unique<Model>(), {}, {}};
  const bool readable = errors.empty();
  check_model(checked, readable, errors);
  const Configuration& values = checked.values();
  if (!values.state.empty() && !errors.concern("strategy")) {
    check_state(values.state, count_replicas(values.strategy, values.data.global_batch_size, this_machine()), errors);
  }
  check_stored_names(checked, errors);
  errors.throw_if_any();
  return checked;
}

FeederSet load_feeders(const CheckedConfiguration& checked) {
  if (!checked.has_model()) {
    return {nullptr, nullptr, nullptr, data::load(checked.values().data, data::Split::kTrain)->rows()};
  }
  const data::Splits splits = data::load(checked.values().data);
  FeederSet feeders{feeder_for(checked, splits.train), feeder_for(checked, splits.validation),
                    feeder_for(checked, splits.test)};
  feeders.train_rows = feeders.train->rows();
  return feeders;
}

std::unique_ptr<data::Feeder> load_feeder(const CheckedConfiguration& checked, data::Split split) {
  const std::optional<data::Dataset> dataset = data::load(checked.values().data, split);
  if (!dataset) {
    constexpr const char* kNames[] = {"train", "validation", "test"};
    throw UsageError(
        fmt::format("--split {}: the configuration has no such data", kNames[static_cast<std::size_t>(split)]));
  }
  return feeder_for(checked, *dataset);
}

namespace {

std::unique_ptr<Strategy> make_strategy(const CheckedConfiguration& checked, const StrategyOptions& options,
                                        const State& state, const BatchSizes& sizes, const Hardware& hardware) {
  const Configuration& values = checked.values();
  Placement placement = place_replicas(options, values.data.global_batch_size, hardware.machine);
  if (values.training.precision == Precision::kMixedBfloat16 && !placement.on_gpus() && !cpu_has_bfloat16()) {
    spdlog::warn("mixed_bfloat16: {} has no bfloat16 instructions, so this will not be faster than float32",
                 cpu_name());
  }
  StrategyParts parts{usable_options(options, placement, hardware),
                      values.gradients,
                      {},
                      {},
                      state,
                      values.seed,
                      values.data.cache,
                      values.training.cuda_graph == CudaGraph::kAuto,
                      nullptr,
                      nullptr};
  parts.backend = hardware.backend(placement, values.training);
  parts.communicators = hardware.communicators;
  if (values.optimizer) parts.rule = rule(*values.optimizer);
  parts.policies = checked.policies();
  auto strategy = std::make_unique<Strategy>(std::move(placement), *checked.model, parts);
  strategy->prepare(sizes);
  return strategy;
}

}  // namespace

std::unique_ptr<Strategy> make_strategy(const CheckedConfiguration& checked, const BatchSizes& sizes,
                                        const Hardware& hardware) {
  return make_strategy(checked, checked.values().strategy, checked.values().state, sizes, hardware);
}

std::unique_ptr<Strategy> make_model_strategy(const CheckedConfiguration& checked, const StrategyOptions& options,
                                              const BatchSizes& sizes, const Hardware& hardware) {
  return make_strategy(checked, options, {}, sizes, hardware);
}

void set_first_values(const CheckedConfiguration& checked, const VariableStore& variables) {
  initialize_weights(*checked.model, variables, checked.values().seed);
  if (!checked.has_model()) return;
  if (const auto& file = checked.values().model->initial_weights) load_weights(file->text, variables);
}

std::string variables_text(const CheckedConfiguration& checked, const std::string& indent) {
  if (!checked.has_model()) return "";
  std::string text = variable_table(*checked.model, checked.variables, indent);
  for (const std::string& rule : idle_rules(*checked.model, checked.values().variables)) {
    text += fmt::format("{}{}: no variable is left for it\n", indent, rule);
  }
  return text;
}

}  // namespace mirrortrain
