#include "model/build_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "config/scalar.h"
#include "graph/fuse.h"
#include "graph/gradients.h"
#include "graph/ops/collective.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/mask.h"
#include "model/layer_builder.h"
#include "model/loss_fit.h"
#include "model/wiring.h"

namespace mirrortrain {
namespace {

/// The description from which both graphs are built.
struct Description {
  const ModelOptions& options;
  const Wiring& wiring;
  const config::Located<Loss>& loss;
  const std::vector<config::Located<Metric>>& metrics;
  Precision precision;
  config::Errors& errors;
  WeightedLoss weighted;
};

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

/// An op's message without the leading "conv2d: ", which the layer's path already names.
std::string without_op_name(const std::string& message) {
  const std::size_t colon = message.find(": ");
  const std::size_t name_end = message.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_");
  return colon != std::string::npos && name_end == colon ? message.substr(colon + 2) : message;
}

/// A layer of the same type with default options: wrong ones must not be used, even to infer shapes.
Layer with_defaults(const Layer& layer) {
  return std::visit([](const auto& options) { return Layer(std::decay_t<decltype(options)>{}); }, layer);
}

/// Builds one of the model's two graphs.
class GraphMaker {
 public:
  GraphMaker(const Description& description, Mode mode, Model& model)
      : in_(description),
        weighted_(mode == Mode::kTraining ? description.weighted.training : description.weighted.evaluation),
        model_(model),
        made_(mode == Mode::kTraining ? model.training : model.evaluation),
        builder_(mode, made_, model.variables) {}

  /// From the features to the last layer's output, which is kNoValue if it cannot be determined.
  void add_layers() {
    made_.features = made_.graph.input("features", {DType::kFloat32, Shape(in_.options.input_shape.value), true});
    made_.graph.set_layer("");
    const bool mixed = in_.precision == Precision::kMixedBfloat16;
    const Output features{mixed ? cast(made_.features, DType::kBfloat16) : made_.features};
    for (std::size_t i = 0; i < in_.options.layers.size(); ++i) {
      Inputs inputs;
      for (const int source : in_.wiring.sources[i]) {
        const Output known = source == Wiring::kModelInput ? features
                             : source == Wiring::kUnknown  ? Output{}
                                                           : outputs_[static_cast<std::size_t>(source)];
        inputs.values.push_back(known.value);
        inputs.masks.push_back(known.mask);
        inputs.guessed = inputs.guessed || known.guessed;
      }
      outputs_.push_back(add_layer(i, inputs));
    }
    made_.output = outputs_.back().value;
    made_.mask = outputs_.back().mask;
  }

  void add_loss_and_metrics() {
    const Shape output_shape = made_.graph.spec(made_.output).shape;
    const ValueId mask = made_.mask;
    made_.graph.set_layer("loss");
    made_.output = cast(made_.output, DType::kFloat32);
    made_.loss = attempt(in_.loss, in_.errors, [&] {
      made_.labels = made_.graph.input("labels", targets_spec(targets_of(in_.loss.value), output_shape));
      std::vector<ValueId> inputs = {made_.output, made_.labels};
      if (weighted_) inputs.push_back(made_.weights = made_.graph.input("weights", {DType::kFloat32, {}, true}));
      if (mask != kNoValue) {
        inputs.resize(3, kNoValue);
        inputs.push_back(mask);
        // Gradients are divided by the number of tokens that count in the global batch.
        if (builder_.mode() == Mode::kTraining) {
          const ValueId count = made_.graph.apply_one(ops::MaskCount(), {mask});
          inputs.push_back(made_.graph.apply_one(ops::AllReduce(ops::Axis::kData), {count}));
        }
      }
      return made_.graph.apply(loss_op(in_.loss.value), inputs).front();
    });
    if (made_.loss == kNoValue) return;
    for (const auto& metric : in_.metrics) {
      if (read_state(metric.path, in_.errors) != ReadState::kWhole) continue;
      const std::size_t number = made_.metrics.size();  // in Model::metrics
      made_.graph.set_layer(std::string(name_of(metric.value)));
      made_.metrics.push_back(attempt(metric, in_.errors, [&] {
        MetricNode node = metric_node(metric.value, in_.loss.value, output_shape);
        std::vector<ValueId> inputs{node.reads_probabilities ? probabilities() : made_.output, made_.labels};
        if (mask != kNoValue) inputs.push_back(mask);
        if (mask != kNoValue && !node.takes_mask) {
          throw Error(fmt::format("{} counts every step, but the output carries a mask of padding; use another metric",
                                  name_of(metric.value)));
        }
        const ValueId sums = made_.graph.apply(node.op, std::move(inputs)).front();
        if (number < model_.metrics.size()) {
          model_.metrics[number].sums = static_cast<std::size_t>(made_.graph.spec(sums).shape.elements());
          model_.metrics[number].value = std::move(node.value);
        }
        return sums;
      }));
    }
  }

  void fuse_ops() {
    std::vector<ValueId*> kept{&made_.features, &made_.labels, &made_.weights, &made_.output, &made_.mask, &made_.loss};
    for (ValueId& metric : made_.metrics) kept.push_back(&metric);
    for (ValueId& variable : made_.variables) kept.push_back(&variable);
    for (Assignment& assignment : made_.assignments) kept.push_back(&assignment.value);
    made_.graph = fuse(made_.graph, kept);
  }

  void add_all_gradients(AggregationMethod aggregation) {
    std::vector<ValueId> trained;
    for (std::size_t i = 0; i < model_.variables.size(); ++i) {
      if (model_.variables[i].spec.trainable) trained.push_back(made_.variables[i]);
    }
    const std::vector<ValueId> gradients = add_gradients(made_.graph, made_.loss, trained, aggregation);
    auto next = gradients.begin();
    for (const ModelVariable& variable : model_.variables) {
      made_.gradients.push_back(variable.spec.trainable ? *next++ : kNoValue);
    }
  }

 private:
  /// A layer's output. Guessed if an already reported wrong option on the path to it was replaced by its default.
  struct Output {
    ValueId value = kNoValue;
    bool guessed = false;
    ValueId mask = kNoValue;  ///< of the output
  };
  struct Inputs {
    std::vector<ValueId> values, masks;
    bool guessed = false;
  };

  ValueId build(const Layer& layer, std::span<const ValueId> inputs) {
    return std::visit([&](const auto& options) { return options.build(builder_, inputs); }, layer);
  }

  /// The output as probabilities, also if it is logits.
  ValueId probabilities() {
    const ops::Loss loss = loss_op(in_.loss.value);
    if (!loss.from_logits) return made_.output;
    if (ops::is_binary(loss.kind))
      return made_.graph.apply_one(ops::Activation(ops::ActivationKind::kSigmoid), {made_.output});
    return made_.graph.apply_one(ops::Softmax(), {made_.output});
  }

  ValueId cast(ValueId value, DType dtype) {
    return made_.graph.spec(value).dtype == dtype ? value : made_.graph.apply_one(ops::Cast(dtype), {value});
  }

  Output add_layer(std::size_t number, const Inputs& inputs) {
    const config::Located<Layer>& layer = in_.options.layers[number];
    const std::string& name = in_.wiring.names[number];
    const ReadState state = in_.wiring.states[number];
    if (std::ranges::count(inputs.values, kNoValue) > 0 || state == ReadState::kNot) return {};
    const bool misread = state == ReadState::kInPart;
    try {
      const bool trainable = common_options(layer.value).trainable && !in_.options.freezes(name);
      builder_.begin_layer(name, trainable, inputs.guessed, inputs.masks);
      const ValueId output = build(misread ? with_defaults(layer.value) : layer.value, inputs.values);
      const Shape& shape = builder_.shape(output);
      check_elements(shape, "output");
      if (builder_.mode() == Mode::kTraining) {
        model_.layers.push_back({name, std::string(type_name(layer.value)), shape, builder_.parameters()});
      }
      if (misread && std::visit([](const auto& options) { return options.kOptionsSetRank; }, layer.value)) return {};
      return {output, inputs.guessed || misread, output_mask(layer)};
    } catch (const WrongRank& error) {
      in_.errors.add(layer.place, layer.path, error.what());
    } catch (const Error& error) {
      // Of guessed extents, only the number of axes is worth reporting.
      if (!inputs.guessed && !misread) in_.errors.add(layer.place, layer.path, without_op_name(error.what()));
    }
    return {};
  }

  /// The mask on the output of the layer just built; warns the user if a mask ends there.
  ValueId output_mask(const config::Located<Layer>& layer) {
    const Masking masking = std::visit([](const auto& options) { return options.kMasking; }, layer.value);
    if (masking == Masking::kPasses) builder_.set_output_mask(builder_.mask(0));
    if (masking == Masking::kEnds && builder_.has_masks()) {
      builder_.warn_of_lost_mask(fmt::format("{} carries none on", type_name(layer.value)));
    }
    for (const std::string& warning : builder_.warnings()) {
      if (builder_.mode() == Mode::kTraining) in_.errors.warn(layer.place, layer.path, warning);
    }
    return builder_.output_mask();
  }

  const Description& in_;
  const bool weighted_;
  Model& model_;
  ModelGraph& made_;
  LayerBuilder builder_;
  std::vector<Output> outputs_;
};

/// A type listed again with other options is numbered, as in Keras: auc, auc_1.
void name_metrics(const std::vector<config::Located<Metric>>& metrics, Model& model, config::Errors& errors) {
  std::map<std::string_view, std::vector<std::string>> options_of;
  for (const auto& metric : metrics) {
    if (read_state(metric.path, errors) != ReadState::kWhole) continue;
    const std::string_view type = name_of(metric.value);
    std::vector<std::string>& before = options_of[type];
    std::string options = config::flow_text(config::Codec<Metric>::show(metric.value), 1000);
    if (std::ranges::find(before, options) != before.end()) {
      errors.add(metric.place, metric.path, "this metric is listed twice");
    }
    model.metrics.push_back({before.empty() ? std::string(type) : fmt::format("{}_{}", type, before.size()), 1, {}});
    before.push_back(std::move(options));
  }
}

/// [3, 32, 32] would train on images of 3 rows with 32 channels.
void warn_of_channels_first(const ModelOptions& options, config::Errors& errors) {
  const auto& shape = options.input_shape.value;
  const bool of_images = shape.size() == 3 && std::ranges::any_of(options.layers, [](const auto& layer) {
                           return type_name(layer.value).find("2d") != std::string_view::npos;
                         });
  if (!of_images || (shape[0] != 1 && shape[0] != 3) || shape[1] <= 4 || shape[2] <= 4) return;
  errors.warn(options.input_shape.place, options.input_shape.path,
              fmt::format("[{0}, {1}, {2}] is taken as height {0}, width {1} and {2} channels; images are stored as "
                          "[height, width, channels], here [{1}, {2}, {0}]",
                          shape[0], shape[1], shape[2]));
}

}  // namespace

std::size_t Model::loss_sums() const {
  if (training.loss == kNoValue) return 1;
  return static_cast<std::size_t>(training.graph.spec(training.loss).shape.elements());
}

std::size_t Model::metric_sums() const {
  std::size_t all = 0;
  for (const ModelMetric& metric : metrics) all += metric.sums;
  return all;
}

std::vector<std::string> Model::metric_sum_names() const {
  std::vector<std::string> names;
  for (const ModelMetric& metric : metrics) {
    for (std::size_t i = 0; i < metric.sums; ++i) {
      names.push_back(metric.sums == 1 ? metric.name : fmt::format("{}[{}]", metric.name, i));
    }
  }
  return names;
}

Model build_model(const ModelOptions& options, const config::Located<Loss>& loss,
                  const std::vector<config::Located<Metric>>& metrics, Precision precision, config::Errors& errors,
                  AggregationMethod aggregation, const WeightedLoss& weighted) {
  Model model;
  name_metrics(metrics, model, errors);
  const Wiring wiring = wire_layers(options.layers, errors);
  check_freeze(options, wiring.names, errors);
  const auto& input_shape = options.input_shape;
  if (options.layers.empty() || input_shape.value.empty() || errors.concern(input_shape.path)) return model;

  const Description description{options, wiring, loss, metrics, precision, errors, weighted};
  GraphMaker training(description, Mode::kTraining, model);
  training.add_layers();
  if (model.training.output == kNoValue || errors.concern(loss.path)) return model;
  training.add_loss_and_metrics();
  if (!errors.empty()) return model;
  model.largest_label = largest_label(targets_of(loss.value), model.training.graph.spec(model.training.output).shape);
  warn_of_channels_first(options, errors);
  model.output_range = output_range(model.training);
  check_loss_fit(model.training, options, wiring.names, loss, metrics, errors);
  if (!errors.empty()) return model;
  training.fuse_ops();
  training.add_all_gradients(aggregation);

  GraphMaker evaluation(description, Mode::kEvaluation, model);
  evaluation.add_layers();
  evaluation.add_loss_and_metrics();
  evaluation.fuse_ops();
  return model;
}

}  // namespace mirrortrain
