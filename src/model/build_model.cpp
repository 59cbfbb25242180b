#include "model/build_model.h"

#include <algorithm>

#include "base/error.h"
#include "graph/fuse.h"
#include "graph/gradients.h"
#include "graph/ops/elementwise.h"
#include "model/layer_builder.h"
#include "model/wiring.h"

namespace mirrortrain {
namespace {

/// Runs `step`; an Error becomes one of `errors` at the place of `located`, and the result kNoValue.
template <class T, class Step>
ValueId attempt(const config::Located<T>& located, config::Errors& errors, Step step) {
  try {
    return step();
  } catch (const Error& error) {
    errors.add(located.place, located.path, error.what());
    return kNoValue;
  }
}

/// What both graphs are built from.
struct Description {
  const ModelOptions& options;
  const Wiring& wiring;
  const config::Located<Loss>& loss;
  const std::vector<config::Located<Metric>>& metrics;
  Precision precision;
  config::Errors& errors;
};

/// Builds one of the model's two graphs.
class GraphMaker {
 public:
  GraphMaker(const Description& description, Mode mode, Model& model)
      : in_(description),
        model_(model),
        made_(mode == Mode::kTraining ? model.training : model.evaluation),
        builder_(mode, made_, model.variables) {}

  /// From the features to the last layer's output, kNoValue where a layer does not fit.
  void add_layers() {
    made_.features = made_.graph.input("features", {DType::kFloat32, Shape(in_.options.input_shape.value), true});
    made_.graph.set_layer("");
    const bool mixed = in_.precision == Precision::kMixedBfloat16;
    const ValueId first = mixed ? cast(made_.features, DType::kBfloat16) : made_.features;

    std::vector<ValueId> values;
    for (std::size_t i = 0; i < in_.options.layers.size(); ++i) {
      std::vector<ValueId> inputs;
      for (const int source : in_.wiring.sources[i]) {
        if (source == Wiring::kUnknown)
          inputs.push_back(kNoValue);
        else
          inputs.push_back(source == Wiring::kModelInput ? first : values[static_cast<std::size_t>(source)]);
      }
      values.push_back(add_layer(i, inputs));
    }
    made_.output = values.back();
  }

  void add_loss_and_metrics() {
    const Shape output_shape = made_.graph.spec(made_.output).shape;
    made_.graph.set_layer("loss");
    made_.output = cast(made_.output, DType::kFloat32);
    made_.loss = attempt(in_.loss, in_.errors, [&] {
      made_.labels = made_.graph.input("labels", targets_spec(targets_of(in_.loss.value), output_shape));
      return made_.graph.apply_one(loss_op(in_.loss.value), {made_.output, made_.labels});
    });
    if (made_.loss == kNoValue) return;
    for (const auto& metric : in_.metrics) {
      made_.graph.set_layer(std::string(name_of(metric.value)));
      made_.metrics.push_back(attempt(metric, in_.errors, [&] {
        return made_.graph.apply_one(metric_op(metric.value, in_.loss.value, output_shape),
                                     {made_.output, made_.labels});
      }));
    }
  }

  void fuse_ops() {
    std::vector<ValueId*> kept{&made_.features, &made_.labels, &made_.output, &made_.loss};
    for (ValueId& metric : made_.metrics) kept.push_back(&metric);
    for (ValueId& variable : made_.variables) kept.push_back(&variable);
    for (Assignment& assignment : made_.assignments) kept.push_back(&assignment.value);
    made_.graph = fuse(made_.graph, kept);
  }

  void add_all_gradients() {
    std::vector<ValueId> trained;
    for (std::size_t i = 0; i < model_.variables.size(); ++i) {
      if (model_.variables[i].spec.trainable) trained.push_back(made_.variables[i]);
    }
    const std::vector<ValueId> gradients = add_gradients(made_.graph, made_.loss, trained);
    auto next = gradients.begin();
    for (const ModelVariable& variable : model_.variables) {
      made_.gradients.push_back(variable.spec.trainable ? *next++ : kNoValue);
    }
  }

 private:
  ValueId cast(ValueId value, DType dtype) {
    return made_.graph.spec(value).dtype == dtype ? value : made_.graph.apply_one(ops::Cast(dtype), {value});
  }

  /// kNoValue where an input is (an error that was told before) or where the layer does not fit.
  ValueId add_layer(std::size_t number, const std::vector<ValueId>& inputs) {
    const config::Located<Layer>& layer = in_.options.layers[number];
    const std::string& name = in_.wiring.names[number];
    if (std::ranges::count(inputs, kNoValue) > 0) return kNoValue;
    const ValueId output = attempt(layer, in_.errors, [&] {
      builder_.begin_layer(name, common_options(layer.value).trainable);
      const ValueId built =
          std::visit([&](const auto& options) { return options.build(builder_, inputs); }, layer.value);
      check_elements(builder_.shape(built), "output");
      return built;
    });
    if (output != kNoValue && builder_.mode() == Mode::kTraining) {
      model_.layers.push_back(
          {name, std::string(type_name(layer.value)), builder_.shape(output), builder_.parameters()});
    }
    return output;
  }

  const Description& in_;
  Model& model_;
  ModelGraph& made_;
  LayerBuilder builder_;
};

void make_training_graph(const Description& description, const std::optional<LabelInfo>& labels, Model& model) {
  const std::size_t errors_before = description.errors.count();
  GraphMaker maker(description, Mode::kTraining, model);
  maker.add_layers();
  if (model.training.output == kNoValue) return;
  maker.add_loss_and_metrics();
  if (description.errors.count() > errors_before) return;

  const Shape& output = model.training.graph.spec(model.training.output).shape;
  const Targets targets = targets_of(description.loss.value);
  model.largest_label = largest_label(targets, output);
  if (labels) {
    attempt(description.loss, description.errors, [&] {
      check_targets(targets, output, *labels);
      return kNoValue;
    });
  }
  maker.fuse_ops();
  maker.add_all_gradients();
}

void make_evaluation_graph(const Description& description, Model& model) {
  GraphMaker maker(description, Mode::kEvaluation, model);
  maker.add_layers();
  maker.add_loss_and_metrics();
  maker.fuse_ops();
}

void name_metrics(const std::vector<config::Located<Metric>>& metrics, Model& model, config::Errors& errors) {
  for (const auto& metric : metrics) {
    std::string name(name_of(metric.value));
    if (std::ranges::count(model.metric_names, name) > 0) {
      errors.add(metric.place, metric.path, "this metric stands here twice");
    }
    model.metric_names.push_back(std::move(name));
  }
}

}  // namespace

Model build_model(const ModelOptions& options, const config::Located<Loss>& loss,
                  const std::vector<config::Located<Metric>>& metrics, Precision precision,
                  const std::optional<LabelInfo>& labels, config::Errors& errors) {
  Model model;
  const std::size_t errors_before = errors.count();
  name_metrics(metrics, model, errors);
  const Wiring wiring = wire_layers(options.layers, errors);
  const Description description{options, wiring, loss, metrics, precision, errors};
  make_training_graph(description, labels, model);
  if (errors.count() == errors_before) make_evaluation_graph(description, model);
  return model;
}

}  // namespace mirrortrain
