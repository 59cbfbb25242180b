#include "model/graphs/objective_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "graph/ops/collective.h"
#include "graph/ops/combine.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/loss.h"
#include "graph/ops/mask.h"
#include "model/formula/formula_graph.h"
#include "model/graphs/forward_builder.h"
#include "model/losses/reduction.h"

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

losses::Reduction reduction_of(const Loss& loss) {
  return config::visit([](const auto& options) { return options.reduction; }, loss);
}

class ObjectiveBuilder {
 public:
  ObjectiveBuilder(const ModelDescription& description, LayerBuilder& layers, Model& model)
      : in_(description),
        layers_(layers),
        model_(model),
        made_(layers.mode() == Mode::kTraining ? model.training : model.evaluation) {}

  void run() {
    for (std::size_t i = 0; i < made_.outputs.size(); ++i) add_loss(i);
    for (std::size_t i = 0; i < made_.outputs.size(); ++i) {
      if (made_.outputs[i].loss != kNoValue) add_metrics(i);
    }
    add_penalty();
  }

 private:
  /// An input of the graph with one number for each example.
  ValueId number_of_examples(std::size_t output, std::string_view what);
  void add_loss(std::size_t number);
  /// Of all layers whose outputs are regularized.
  void add_penalty();
  /// The output's mask, without the positions whose label the loss leaves out.
  ValueId without_ignored(const Loss& loss, const ModelOutput& output);
  /// The mask of what metrics read: of the output's, the examples with a label.
  ValueId mask_of_metrics(const ModelOutput& output);
  void add_metrics(std::size_t number);
  /// nullopt, without an error, where what is wrong follows from the number of outputs, which is a guess if the options
  /// of a layer could not be read: with another number it is not, or not the same.
  std::optional<MetricNode> node_of(const Metric& metric, const Loss& loss, const Shape& output) const;
  /// Throws Error for a formula's value that has not the steps of a mask.
  void require_steps(ValueId value, ValueId mask) const;
  /// An output as probabilities, also if it is logits.
  ValueId probabilities(std::size_t number);

  const ModelDescription& in_;
  LayerBuilder& layers_;
  Model& model_;
  ModelGraph& made_;
};

ValueId ObjectiveBuilder::number_of_examples(std::size_t output, std::string_view what) {
  return made_.graph.input(in_.of_output(output, what), {DType::kFloat32, {}, true});
}

void ObjectiveBuilder::add_loss(std::size_t number) {
  ModelOutput& output = made_.outputs[number];
  const Objective& objective = in_.objectives[number];
  const auto& loss = objective.loss;
  const bool weighted = layers_.mode() == Mode::kTraining ? objective.labels.weighted_in_training
                                                          : objective.labels.weighted_in_evaluation;
  const Shape shape = made_.graph.spec(output.value).shape;
  made_.graph.set_layer(in_.of_output(number, "loss"));
  const std::size_t collectives = ops::collectives_of(made_.graph).size();
  output.value = as_dtype(made_.graph, output.value, DType::kFloat32);
  output.loss = attempt(loss, in_.errors, [&] {
    output.labels = made_.graph.input(in_.of_output(number, "labels"), labels_spec(loss.value, shape));
    if (objective.labels.may_be_missing) output.present = number_of_examples(number, "present");
    if (weighted || objective.labels.may_be_missing) output.weights = number_of_examples(number, "weights");
    if (output.mask != kNoValue && !takes_mask(loss.value)) {
      throw Error(
          config::holds_alternative<losses::Formula>(loss.value)
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
      if (layers_.mode() == Mode::kTraining) {
        const ValueId count = made_.graph.apply_one(ops::MaskCount(), {mask});
        inputs.push_back(made_.graph.apply_one(ops::AllReduce(ops::Axis::kData), {count}));
      }
    }
    return made_.graph.apply(loss_op(loss.value), inputs).front();
  });
  model_.joins_examples = model_.joins_examples || ops::collectives_of(made_.graph).size() > collectives;
}

ValueId ObjectiveBuilder::without_ignored(const Loss& loss, const ModelOutput& output) {
  const std::optional<std::int64_t> ignored = ignored_label(loss);
  if (!ignored) return output.mask;
  return ops::both_masks(made_.graph,
                         made_.graph.apply_one(ops::LabelMask(static_cast<std::int32_t>(*ignored)), {output.labels}),
                         output.mask);
}

void ObjectiveBuilder::add_metrics(std::size_t number) {
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
      std::optional<MetricNode> made = node_of(metric.value, objective.loss.value, shape);
      if (!made) return kNoValue;
      MetricNode& node = *made;
      std::vector<ValueId> inputs = metric_inputs(
          metric.value, made_.graph, node.reads_probabilities ? probabilities(number) : output.value, output.labels);
      if (output.mask != kNoValue && config::holds_alternative<metrics::Formula>(metric.value)) {
        require_steps(inputs[0], output.mask);
      }
      const ValueId own_mask = metric_mask(metric.value, made_.graph, output.labels);
      if (config::holds_alternative<metrics::SparseCategoricalCrossentropy>(metric.value) && own_mask != kNoValue &&
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

std::optional<MetricNode> ObjectiveBuilder::node_of(const Metric& metric, const Loss& loss, const Shape& output) const {
  try {
    return metric_node(metric, loss, output);
  } catch (const Error& error) {
    const bool is_guess =
        std::ranges::any_of(in_.wiring.states, [](ReadState one) { return one != ReadState::kWhole; });
    if (!is_guess || output.rank() == 0) throw;
    std::vector<std::int64_t> dims = output.dims();
    dims.back() += 1 << 20;
    try {
      metric_node(metric, loss, Shape(dims));
    } catch (const Error& other) {
      if (std::string_view(other.what()) == error.what()) throw;
    }
    return std::nullopt;
  }
}

ValueId ObjectiveBuilder::mask_of_metrics(const ModelOutput& output) {
  return ops::both_masks(made_.graph, output.mask, output.present);
}

void ObjectiveBuilder::require_steps(ValueId value, ValueId mask) const {
  const Shape &found = made_.graph.spec(value).shape, &steps = made_.graph.spec(mask).shape;
  if (found.rank() >= steps.rank() && std::equal(steps.begin(), steps.end(), found.begin())) return;
  throw Error(
      fmt::format("the output carries a mask of padding, so that a formula has to keep its steps, {}, but gives {}; "
                  "take means and sums over later axes alone, as mean(..., axis=-1)",
                  steps.text(), found.text()));
}

ValueId ObjectiveBuilder::probabilities(std::size_t number) {
  const Loss& loss = in_.objectives[number].loss.value;
  const ValueId output = made_.outputs[number].value;
  if (!takes_logits(loss)) return output;
  if (ops::is_binary(loss_op(loss).kind)) {
    return made_.graph.apply_one(ops::Activation(ops::ActivationKind::kSigmoid), {output});
  }
  return made_.graph.apply_one(ops::Softmax(), {output});
}

void ObjectiveBuilder::add_penalty() {
  layers_.regularize_angles();
  if (made_.penalties.empty()) return;
  made_.graph.set_layer("");
  const ValueId all =
      made_.penalties.size() == 1 ? made_.penalties[0] : made_.graph.apply_one(ops::AddN{}, made_.penalties);
  made_.penalty = made_.graph.apply(ops::Loss(ops::LossKind::kOutput), {all, all}).front();
  made_.penalties.clear();
}

}  // namespace

void add_objectives(const ModelDescription& description, LayerBuilder& layers, Model& model) {
  ObjectiveBuilder(description, layers, model).run();
}

}  // namespace mirrortrain
