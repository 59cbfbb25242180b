#include "model/build_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "config/scalar.h"
#include "graph/fuse.h"
#include "graph/gradients.h"
#include "graph/ops/collective.h"
#include "graph/ops/combine.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/loss.h"
#include "graph/ops/mask.h"
#include "graph/recompute.h"
#include "model/formula/formula_graph.h"
#include "model/layer_builder.h"
#include "model/loss_fit.h"
#include "model/losses/reduction.h"
#include "model/wiring.h"

namespace mirrortrain {
namespace {

/// The description from which both graphs are built.
struct Description {
  const ModelOptions& options;
  const Wiring& wiring;
  const std::vector<Objective>& objectives;
  Precision precision;
  config::Errors& errors;

  bool has_several_outputs() const { return wiring.outputs.size() > 1; }
  /// "labels", or "rating_labels" of one of several outputs: what belongs to an output.
  std::string of_output(std::size_t output, std::string_view what) const {
    return has_several_outputs() ? fmt::format("{}_{}", wiring.output_name(output), what) : std::string(what);
  }
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
  return config::visit([](const auto& options) { Layer made;
        made.emplace<std::decay_t<decltype(options)>>();
        return made; }, layer);
}

bool is_reverse(const Layer& layer) {
  const auto* const reuse = std::get_if<layers::Reuse>(&layer);
  return reuse != nullptr && reuse->reverse;
}

/// A table for the call in reverse would be trained by nothing without one.
void check_reverse_calls(const ModelOptions& options, const Wiring& wiring, config::Errors& errors) {
  for (std::size_t i = 0; i < options.layers.size(); ++i) {
    const auto& layer = options.layers[i];
    const auto* const embedding = std::get_if<layers::ReversibleEmbedding>(&layer.value);
    if (embedding == nullptr || embedding->tie_weights || wiring.states[i] != ReadState::kWhole) continue;
    bool is_called = false;
    for (std::size_t other = 0; other < options.layers.size(); ++other) {
      is_called = is_called || (wiring.weights_of[other] == i && is_reverse(options.layers[other].value));
    }
    if (is_called) continue;
    errors.add(
        layer.place, layer.path,
        fmt::format("with tie_weights: false it has a table for the call in reverse, but is never called so; add "
                    "- reuse: {{layer: {}, inputs: [LAYER], reverse: true}}, or leave tie_weights out",
                    wiring.names[i]));
  }
}

losses::Reduction reduction_of(const Loss& loss) {
  return config::visit([](const auto& options) { return options.reduction; }, loss);
}

/// Builds one of the model's two graphs.
class GraphMaker {
 public:
  GraphMaker(const Description& description, Mode mode, Model& model)
      : in_(description),
        model_(model),
        made_(mode == Mode::kTraining ? model.training : model.evaluation),
        builder_(mode, made_, model.variables) {}

  /// From the inputs to the outputs. Returns whether all of them could be determined.
  bool add_layers() {
    const bool mixed = in_.precision == Precision::kMixedBfloat16;
    const std::vector<ModelInputOptions> inputs = in_.options.all_inputs();
    for (const ModelInputOptions& input : inputs) {
      const std::string name = inputs.size() == 1 ? "features" : input.name;
      made_.inputs.push_back({made_.graph.input(name, {DType::kFloat32, input.shape, true})});
    }
    made_.graph.set_layer("");
    for (const ModelInput& input : made_.inputs) {
      known_.push_back({mixed ? cast(input.value, DType::kBfloat16) : input.value});
    }
    for (std::size_t i = 0; i < in_.options.layers.size(); ++i) {
      Inputs sources;
      for (const int source : in_.wiring.sources[i]) {
        const Output known = source == Wiring::kUnknown ? Output{} : known_[static_cast<std::size_t>(source)];
        sources.values.push_back(known.value);
        sources.masks.push_back(known.mask);
        sources.guessed = sources.guessed || known.guessed;
      }
      known_.push_back(in_.wiring.used[i] ? add_layer(i, sources) : Output{});
    }
    for (const std::size_t layer : in_.wiring.outputs) {
      const Output& output = known_[in_.wiring.inputs.size() + layer];
      made_.outputs.push_back({output.value, output.mask});
    }
    return std::ranges::none_of(made_.outputs, [](const auto& output) { return output.value == kNoValue; });
  }

  void add_losses_and_metrics() {
    for (std::size_t i = 0; i < made_.outputs.size(); ++i) add_loss(i);
    for (std::size_t i = 0; i < made_.outputs.size(); ++i) {
      if (made_.outputs[i].loss != kNoValue) add_metrics(i);
    }
    add_penalty();
  }

  void fuse_ops() {
    std::vector<ValueId*> kept = made_.read_values();
    for (ValueId& variable : made_.variables) kept.push_back(&variable);
    for (Assignment& assignment : made_.assignments) kept.push_back(&assignment.value);
    made_.graph = fuse(made_.graph, kept);
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

  /// An input of the graph with one number for each example.
  ValueId number_of_examples(std::size_t output, std::string_view what) {
    return made_.graph.input(in_.of_output(output, what), {DType::kFloat32, {}, true});
  }

  void add_loss(std::size_t number) {
    ModelOutput& output = made_.outputs[number];
    const Objective& objective = in_.objectives[number];
    const auto& loss = objective.loss;
    const bool weighted = builder_.mode() == Mode::kTraining ? objective.labels.weighted_in_training
                                                             : objective.labels.weighted_in_evaluation;
    const Shape shape = made_.graph.spec(output.value).shape;
    made_.graph.set_layer(in_.of_output(number, "loss"));
    const std::size_t collectives = ops::collectives_of(made_.graph).size();
    output.value = cast(output.value, DType::kFloat32);
    output.loss = attempt(loss, in_.errors, [&] {
      output.labels = made_.graph.input(in_.of_output(number, "labels"), labels_spec(loss.value, shape));
      if (objective.labels.may_be_missing) output.present = number_of_examples(number, "present");
      if (weighted || objective.labels.may_be_missing) output.weights = number_of_examples(number, "weights");
      if (output.mask != kNoValue && !takes_mask(loss.value)) {
        throw Error(
            std::holds_alternative<losses::Formula>(loss.value)
                ? "a formula gives one number for an example, so that it cannot leave padding out, but the output "
                  "carries a mask of it; use a loss of every step, or end the mask, as `- expression: {formula: x}` "
                  "does, and leave padding out in the formula"
                : "the loss is no mean over positions, so that it cannot leave padding out, but the output carries a "
                  "mask of it; use a loss of every step, or end the mask, as `- expression: {formula: x}` does");
      }
      std::vector<ValueId> inputs =
          loss_inputs(loss.value, made_.graph, output.value, output.labels, output.present, objective.labels.batch);
      if (output.present != kNoValue && inputs[0] != output.value) {
        // What a formula gives for a missing label may be no number.
        const ValueId counted =
            formula::add_formula(made_.graph, "where(present, value, 0)",
                                 {{"present", output.present}, {"value", inputs[0]}}, DType::kFloat32);
        inputs = {counted, counted};
      }
      const ValueId mask = ops::both_masks(made_.graph, counted_by(loss.value, made_.graph, inputs[0]),
                                           without_ignored(loss.value, output));
      const ValueId weights =
          losses::reduced_weights(made_.graph, reduction_of(loss.value), output.weights, inputs[0], mask,
                                  is_of_batch(loss.value, made_.graph.spec(output.value).shape));
      if (weights != kNoValue) inputs.push_back(weights);
      if (mask != kNoValue) {
        inputs.resize(3, kNoValue);
        inputs.push_back(mask);
        // Gradients are divided by the number of tokens that count in the global batch.
        if (builder_.mode() == Mode::kTraining) {
          const ValueId count = made_.graph.apply_one(ops::MaskCount(), {mask});
          inputs.push_back(made_.graph.apply_one(ops::AllReduce(ops::Axis::kData), {count}));
        }
      }
      return made_.graph.apply(loss_op(loss.value), inputs).front();
    });
    model_.joins_examples = model_.joins_examples || ops::collectives_of(made_.graph).size() > collectives;
  }

  /// Of all layers whose outputs are regularized.
  void add_penalty() {
    builder_.regularize_angles();
    if (made_.penalties.empty()) return;
    made_.graph.set_layer("");
    const ValueId all =
        made_.penalties.size() == 1 ? made_.penalties[0] : made_.graph.apply_one(ops::AddN{}, made_.penalties);
    made_.penalty = made_.graph.apply(ops::Loss(ops::LossKind::kOutput), {all, all}).front();
    made_.penalties.clear();
  }

  /// The output's mask, without the positions whose label the loss leaves out.
  ValueId without_ignored(const Loss& loss, const ModelOutput& output) {
    const std::optional<std::int64_t> ignored = ignored_label(loss);
    if (!ignored) return output.mask;
    return ops::both_masks(made_.graph,
                           made_.graph.apply_one(ops::LabelMask(static_cast<std::int32_t>(*ignored)), {output.labels}),
                           output.mask);
  }

  /// The mask of what metrics read: of the output's, the examples with a label.
  ValueId mask_of_metrics(const ModelOutput& output) {
    return ops::both_masks(made_.graph, output.mask, output.present);
  }

  void add_metrics(std::size_t number) {
    ModelOutput& output = made_.outputs[number];
    const Objective& objective = in_.objectives[number];
    std::vector<ModelMetric>& known = model_.outputs[number].metrics;
    const ValueId mask = objective.metrics.empty() ? kNoValue : mask_of_metrics(output);
    const Shape shape = made_.graph.spec(output.value).shape;
    for (const auto& metric : objective.metrics) {
      if (read_state(metric.path, in_.errors) != ReadState::kWhole) continue;
      const std::size_t place = output.metrics.size();
      made_.graph.set_layer(in_.of_output(number, name_of(metric.value)));
      output.metrics.push_back(attempt(metric, in_.errors, [&] {
        if (!are_like_output(targets_of(objective.loss.value))) {
          throw Error(fmt::format("compares the output with labels like it, but those of {} are not; remove it",
                                  config::visit([](const auto& of) { return of.kName; }, objective.loss.value)));
        }
        MetricNode node = metric_node(metric.value, objective.loss.value, shape);
        std::vector<ValueId> inputs = metric_inputs(
            metric.value, made_.graph, node.reads_probabilities ? probabilities(number) : output.value, output.labels);
        if (output.mask != kNoValue && std::holds_alternative<metrics::Formula>(metric.value)) {
          require_steps(inputs[0], output.mask);
        }
        const ValueId own_mask = metric_mask(metric.value, made_.graph, output.labels);
        if (std::holds_alternative<metrics::SparseCategoricalCrossentropy>(metric.value) && own_mask != kNoValue &&
            mask != kNoValue) {
          throw Error(
              "with padding or missing labels it is not said what the mean divides by; give ignore_class to the loss, "
              "which leaves both out, and remove it here");
        }
        const ValueId counted = ops::both_masks(made_.graph, own_mask, mask);
        if (counted != kNoValue) {
          inputs.resize(node.mask_input, kNoValue);
          inputs.push_back(counted);
        }
        const ValueId sums = made_.graph.apply(node.op, std::move(inputs)).front();
        if (place < known.size()) {
          known[place].sums = static_cast<std::size_t>(made_.graph.spec(sums).shape.elements());
          known[place].value = std::move(node.value);
        }
        return sums;
      }));
    }
  }

  /// Throws Error for a formula's value that has not the steps of a mask.
  void require_steps(ValueId value, ValueId mask) const {
    const Shape &found = made_.graph.spec(value).shape, &steps = made_.graph.spec(mask).shape;
    if (found.rank() >= steps.rank() && std::equal(steps.begin(), steps.end(), found.begin())) return;
    throw Error(
        fmt::format("the output carries a mask of padding, so that a formula has to keep its steps, {}, but gives {}; "
                    "take means and sums over later axes alone, as mean(..., axis=-1)",
                    steps.text(), found.text()));
  }

  ValueId build(const Layer& layer, std::span<const ValueId> inputs, bool in_reverse) {
    return config::visit(
        [&](const auto& options) -> ValueId {
          if (!in_reverse) return options.build(builder_, inputs);
          if constexpr (requires { options.build_reverse(builder_, inputs); }) {
            return options.build_reverse(builder_, inputs);
          }
          throw WrongRank(
              fmt::format("expected a reversible_embedding, which can be called in reverse, found {}; leave "
                          "`reverse` out",
                          options.kName));
        },
        layer);
  }

  /// An output as probabilities, also if it is logits.
  ValueId probabilities(std::size_t number) {
    const Loss& loss = in_.objectives[number].loss.value;
    const ValueId output = made_.outputs[number].value;
    if (!takes_logits(loss)) return output;
    if (ops::is_binary(loss_op(loss).kind)) {
      return made_.graph.apply_one(ops::Activation(ops::ActivationKind::kSigmoid), {output});
    }
    return made_.graph.apply_one(ops::Softmax(), {output});
  }

  ValueId cast(ValueId value, DType dtype) {
    return made_.graph.spec(value).dtype == dtype ? value : made_.graph.apply_one(ops::Cast(dtype), {value});
  }

  Output add_layer(std::size_t number, const Inputs& inputs) {
    const config::Located<Layer>& layer = in_.options.layers[number];
    const std::string& name = in_.wiring.names[number];
    // A reuse is built as the layer whose weights it has.
    const std::size_t of = in_.wiring.weights_of[number];
    const config::Located<Layer>& built = in_.options.layers[of];
    const ReadState state = std::max(in_.wiring.states[number], in_.wiring.states[of]);
    if (std::ranges::count(inputs.values, kNoValue) > 0 || state == ReadState::kNot) return {};
    // What could not be built has no weights to use again, and its error.
    if (of != number && known_[in_.wiring.inputs.size() + of].value == kNoValue) return {};
    const bool misread = state == ReadState::kInPart;
    try {
      const bool trainable = common_options(built.value).trainable && !in_.options.freezes(in_.wiring.names[of]);
      builder_.begin_layer(name, trainable, inputs.guessed, inputs.masks, in_.wiring.names[of]);
      const ValueId output =
          build(misread ? with_defaults(built.value) : built.value, inputs.values, is_reverse(layer.value));
      if (const auto& regularizer = common_options(built.value).activity_regularizer) {
        builder_.regularize(output, *regularizer);
      }
      const Shape& shape = builder_.shape(output);
      if (builder_.mode() == Mode::kTraining) {
        model_.layers.push_back({name, std::string(type_name(layer.value)), shape, builder_.parameters()});
      }
      if (misread && config::visit([](const auto& options) { return options.kOptionsSetRank; }, built.value)) return {};
      return {output, inputs.guessed || misread, output_mask(layer, built.value)};
    } catch (const WrongAxis& error) {
      if (!misread) in_.errors.add(layer.place, layer.path, error.what());
    } catch (const WrongRank& error) {
      in_.errors.add(layer.place, layer.path, error.what());
    } catch (const Error& error) {
      // Of guessed extents, only the number of axes is worth reporting.
      if (!inputs.guessed && !misread) in_.errors.add(layer.place, layer.path, without_op_name(error.what()));
    }
    return {};
  }

  /// The mask on the output of the layer just built; warns the user if a mask ends there.
  ValueId output_mask(const config::Located<Layer>& layer, const Layer& built) {
    const Masking masking = config::visit([](const auto& options) { return options.kMasking; }, built);
    builder_.mask_output(masking, type_name(built));
    for (const std::string& warning : builder_.warnings()) {
      if (builder_.mode() == Mode::kTraining) in_.errors.warn(layer.place, layer.path, warning);
    }
    return builder_.output_mask();
  }

  const Description& in_;
  Model& model_;
  ModelGraph& made_;
  LayerBuilder builder_;
  std::vector<Output> known_;  ///< the model's inputs, then the layers
};

/// Adds an error for each formula that has the name of another metric of its output.
void require_own_names(const std::vector<const config::Located<Metric>*>& metrics,
                       const std::vector<ModelMetric>& named, config::Errors& errors) {
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    for (std::size_t other = 0; other < metrics.size() && named[i].is_formula; ++other) {
      const bool is_its = other == i || (named[other].is_formula && other > i);  // of two formulas, the second's
      if (is_its || named[other].name != named[i].name) continue;
      errors.add(metrics[i]->place, metrics[i]->path,
                 fmt::format("the name '{}' is taken by {}; give the formula another `name`",
                             name_of(metrics[i]->value), metrics[other]->path));
      break;
    }
  }
}

/// A type listed again with other options is numbered, as in Keras: auc, auc_1. Formulas have names of their own.
void name_metrics(const Description& in, std::size_t output, OutputTraits& traits) {
  std::map<std::string_view, std::vector<std::string>> options_of;
  std::vector<const config::Located<Metric>*> whole;
  for (const auto& metric : in.objectives[output].metrics) {
    if (read_state(metric.path, in.errors) != ReadState::kWhole) continue;
    whole.push_back(&metric);
    if (std::holds_alternative<metrics::Formula>(metric.value)) {
      traits.metrics.push_back({in.of_output(output, name_of(metric.value)), 1, {}, true});
      continue;
    }
    const std::string_view type = name_of(metric.value);
    std::vector<std::string>& before = options_of[type];
    std::string options = config::flow_text(config::Codec<Metric>::show(metric.value), 1000);
    if (std::ranges::find(before, options) != before.end()) {
      in.errors.add(metric.place, metric.path, "this metric is listed twice");
    }
    const std::string name = before.empty() ? std::string(type) : fmt::format("{}_{}", type, before.size());
    traits.metrics.push_back({in.of_output(output, name), 1, {}, false});
    before.push_back(std::move(options));
  }
  require_own_names(whole, traits.metrics, in.errors);
}

/// Two outputs may make one name of theirs and their metrics': `a` with `b_auc` and `a_b` with `auc`.
void require_distinct_scores(const Description& in, const Model& model) {
  if (in.errors.concern("metrics")) return;  // a name that an output has twice
  std::vector<std::string> names = model.score_names();
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice == names.end()) return;
  const auto& outputs = in.options.outputs;
  in.errors.add(outputs ? outputs->front().place : config::Place{}, "model.outputs",
                fmt::format("two of what is reported would be named '{}'; give an output another name", *twice));
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
             [](const auto& layer) { return std::holds_alternative<layers::Expression>(layer.value); }) ||
         std::ranges::any_of(objectives, [](const Objective& objective) {
           return std::holds_alternative<losses::Formula>(objective.loss.value);
         });
}

double weight_of(const Loss& loss) {
  return config::visit([](const auto& options) { return options.weight; }, loss);
}

/// `units`: of layers, ModelOptions::recomputed_units. The losses are multiplied by `loss_scale`, and the gradients
/// divided by it.
void add_all_gradients(const Model& model, ModelGraph& made, AggregationMethod aggregation,
                       const std::map<std::string, int>& units, double loss_scale) {
  const auto forward = static_cast<NodeId>(made.graph.nodes().size());
  made.forward = forward;
  std::vector<ValueId> trained;
  for (std::size_t i = 0; i < model.variables.size(); ++i) {
    if (model.variables[i].spec.trainable) trained.push_back(made.variables[i]);
  }
  std::vector<WeightedLoss> losses;
  for (std::size_t i = 0; i < made.outputs.size(); ++i) {
    losses.push_back({made.outputs[i].loss, static_cast<float>(model.outputs[i].loss_weight * loss_scale)});
  }
  if (made.penalty != kNoValue) losses.push_back({made.penalty, static_cast<float>(loss_scale)});
  std::vector<ValueId> gradients = add_gradients(made.graph, losses, trained, aggregation);
  for (ValueId& gradient : gradients) {
    if (loss_scale != 1) gradient = made.graph.apply_one(ops::Scale(static_cast<float>(1 / loss_scale)), {gradient});
  }
  auto next = gradients.begin();
  for (const ModelVariable& variable : model.variables) {
    made.gradients.push_back(variable.spec.trainable ? ops::not_of_collective(made.graph, *next++) : kNoValue);
  }
  if (units.empty()) return;
  made.graph = recompute(made.graph, forward, [&](const std::string& layer) {
    const auto unit = units.find(layer);
    return unit == units.end() ? -1 : unit->second;
  });
}

/// Whether places with these graphs can run them together. Their nodes may differ in which part of a gathered value
/// they read.
bool can_run_together(const ModelGraph& a, const ModelGraph& b) {
  const auto same_node = [](const Node& one, const Node& other) {
    return one.op->name() == other.op->name() && one.outputs == other.outputs && one.layer == other.layer;
  };
  return std::ranges::equal(a.graph.nodes(), b.graph.nodes(), same_node) &&
         a.graph.values().size() == b.graph.values().size() && a.gradients == b.gradients && a.outputs == b.outputs;
}

}  // namespace

Model build_model(const ModelOptions& options, const Wiring& wiring, const std::vector<Objective>& objectives,
                  Precision precision, config::Errors& errors, AggregationMethod aggregation,
                  const PlacesOfModel& places, double loss_scale) {
  Model model;
  const Description description{options, wiring, objectives, precision, errors};
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

  GraphMaker training(description, Mode::kTraining, model);
  const bool is_whole = training.add_layers();
  if (!is_whole || objectives.size() != wiring.outputs.size() || errors.concern("loss")) return model;
  training.add_losses_and_metrics();
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
  training.fuse_ops();
  GraphMaker evaluation(description, Mode::kEvaluation, model);
  evaluation.add_layers();
  evaluation.add_losses_and_metrics();
  evaluation.fuse_ops();
  if (places.count > 1) divide_graphs(model, places);
  const std::map<std::string, int> units = options.recomputed_units(wiring.names);
  add_all_gradients(model, model.training, aggregation, units, loss_scale);
  for (PlaceGraphs& other : model.other_places) {
    add_all_gradients(model, other.training, aggregation, units, loss_scale);
    if (can_run_together(model.training, other.training)) continue;
    throw Error("the places of a replica would compute different operations; use another strategy.mesh.model");
  }
  return model;
}

}  // namespace mirrortrain
