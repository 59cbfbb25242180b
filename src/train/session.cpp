#include "train/session.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/error.h"
#include "device/cpu/cpu_device.h"

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

}  // namespace

CheckedConfiguration check_configuration(const std::string& file, std::span<const std::string> overrides) {
  config::Errors errors;
  CheckedConfiguration checked{read_configuration(file, overrides, errors), nullptr, {}};
  const Configuration& values = checked.values();
  const bool readable = errors.empty();
  if (!values.model.layers.empty() && !values.model.input_shape.value.empty()) {
    checked.model = std::make_unique<Model>(
        build_model(values.model, values.loss, values.metrics, values.training.precision, errors));
  }
  if (readable && errors.empty()) {
    checked.input = input_spec(*checked.model);
    data::check_fit(values.data, checked.input, errors);
  }
  errors.throw_if_any();
  return checked;
}

FeederSet load_feeders(const CheckedConfiguration& checked) {
  const data::Splits splits = data::load(checked.values().data);
  return {feeder_for(checked, splits.train), feeder_for(checked, splits.validation), feeder_for(checked, splits.test)};
}

std::unique_ptr<data::Feeder> load_feeder(const CheckedConfiguration& checked, data::Split split) {
  const std::optional<data::Dataset> dataset = data::load(checked.values().data, split);
  if (!dataset) {
    throw UsageError(fmt::format("--split {}: the configuration has no such data", split == data::Split::kTest ? "test"
                                                                                   : split == data::Split::kValidation
                                                                                       ? "validation"
                                                                                       : "train"));
  }
  return feeder_for(checked, *dataset);
}

std::unique_ptr<Strategy> make_strategy(const CheckedConfiguration& checked, const BatchSizes& sizes) {
  const Configuration& values = checked.values();
  Placement placement = place_replicas(values.strategy, values.data.global_batch_size, usable_cores());
  if (values.training.precision == Precision::kMixedBfloat16 && !cpu_has_bfloat16()) {
    spdlog::warn("mixed_bfloat16: {} has no bfloat16 instructions, so this will not be faster than float32",
                 cpu_name());
  }
  auto strategy = std::make_unique<Strategy>(std::move(placement), *checked.model, rule(values.optimizer), values.seed,
                                             values.strategy.communication.timeout_seconds);
  strategy->prepare(sizes);
  return strategy;
}

}  // namespace mirrortrain
