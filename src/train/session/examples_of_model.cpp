#include "train/session/examples_of_model.h"

#include <utility>
#include <variant>

namespace mirrortrain {
namespace {

/// Whether a split has weights for the examples' loss of an output.
template <class Split>
bool has_weights(const Split& split, const std::string& output) {
  return std::visit(
      [&](const auto& source) {
        if constexpr (requires { source.weights_of(output); }) return source.weights_of(output) != nullptr;
        return false;
      },
      split);
}

/// Whether examples of a split may have no label for an output.
template <class Split>
bool may_lack_labels(const Split& split, const std::string& output) {
  return std::visit(
      [&](const auto& source) {
        if constexpr (requires { source.may_lack_labels(output); }) return source.may_lack_labels(output);
        return false;
      },
      split);
}

}  // namespace

data::ExampleSpec example_spec(const Model& model, const ModelOptions& options,
                               const std::vector<Objective>& objectives) {
  const ModelGraph& graph = model.training;
  data::ExampleSpec spec;
  const std::vector<ModelInputOptions> inputs = options.all_inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ModelInput& input = graph.inputs[i];
    spec.inputs.push_back({inputs[i].name, inputs[i].shape, inputs[i].path, input.numbers_below.value_or(0),
                           input.pads_with_zero, input.averages_steps});
    for (const Lookup& lookup : input.lookups) {
      spec.inputs.back().lookups.push_back({lookup.layer, lookup.rows, lookup.masks_zero});
    }
  }
  for (std::size_t i = 0; i < model.outputs.size(); ++i) {
    const ModelOutput &trained = graph.outputs[i], &evaluated = model.evaluation.outputs[i];
    const ValueSpec& labels = graph.graph.spec(trained.labels);
    const auto& largest = model.outputs[i].largest_label;
    data::LabelSpec label{model.outputs[i].name, labels.shape, labels.dtype};
    label.weighted = trained.weights != kNoValue || evaluated.weights != kNoValue;
    label.may_be_missing = trained.present != kNoValue;
    if (labels.dtype == DType::kInt32) {
      label.classes = largest.value_or(-1) + 1;
      label.ignored = ignored_label(objectives[i].loss.value);
      if (targets_of(objectives[i].loss.value) == Targets::kSymbols) {
        label.symbol_steps = model.evaluation.graph.spec(evaluated.value).shape[0];
      }
    } else {
      label.signs = targets_of(objectives[i].loss.value) == Targets::kSigns;
      label.probabilities = !label.signs && largest.has_value();
    }
    spec.labels.push_back(std::move(label));
  }
  return spec;
}

LabelTraits label_traits(const Configuration& values, const std::string& output, const Loss& loss,
                         config::Errors& errors) {
  const data::DataOptions& data = values.data;
  const bool of_train = has_weights(data.train.value, output);
  const bool of_others = (data.validation.value && has_weights(*data.validation.value, output)) ||
                         (data.test.value && has_weights(*data.test.value, output));
  const losses::ClassWeight* const classes = class_weight_of(loss);
  const bool of_classes = classes != nullptr && !classes->empty();
  if (of_classes && of_train) {
    errors.add(classes->weights.place, classes->weights.path,
               "the examples of data.train have weights of their own; remove class_weight or data.train.weights");
  }
  const bool may_be_missing = may_lack_labels(data.train.value, output) ||
                              (data.validation.value && may_lack_labels(*data.validation.value, output)) ||
                              (data.test.value && may_lack_labels(*data.test.value, output));
  return {of_train || of_classes, of_train || of_others, data.global_batch_size, may_be_missing};
}

}  // namespace mirrortrain
