#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/axes.h"
#include "base/error.h"
#include "graph/ops/collective.h"
#include "model/build_model.h"
#include "model/wiring.h"

namespace mirrortrain {
namespace {

/// Every layer that reads the input must mask the padding.
void require_masked_input(const ModelOptions& options) {
  const std::vector<ModelInputOptions> inputs = options.all_inputs();
  if (inputs.size() > 1) throw Error("expected a model with one input, found several; remove data.sequences");
  const Shape& input = inputs.front().shape;
  if (input.rank() != 1) {
    throw Error(
        fmt::format("expected sequences of whole numbers as {}, [steps], found {}", inputs.front().path, input.text()));
  }
  const Wiring wiring = wiring_of(options);
  for (std::size_t i = 0; i < options.layers.size(); ++i) {
    const bool reads_input = std::ranges::any_of(wiring.sources[i], [&](int one) { return wiring.is_input(one); });
    if (!reads_input || !wiring.used[i]) continue;
    const layers::EmbeddingOptions* const embedding = embedding_of(options.layers[wiring.weights_of[i]].value);
    if (embedding != nullptr && embedding->mask_zero) continue;
    throw Error(
        fmt::format("'{}' reads the model's input and counts padding like anything else; expected an embedding "
                    "with mask_zero: true",
                    wiring.names[i]));
  }
}

bool has_activity_regularizer(const Layer& layer) {
  return common_options(layer).activity_regularizer || config::holds_alternative<layers::ActivityRegularization>(layer);
}

/// Whether the statistics of a position depend on others. `rank`: of an example.
bool normalizes_over_steps(const Layer& layer, std::size_t rank) {
  const auto is_last = [&](const Axes& axis) {
    const auto* const one = std::get_if<std::int64_t>(&axis);
    const std::vector<std::int64_t> all =
        one != nullptr ? std::vector{*one} : std::get<std::vector<std::int64_t>>(axis);
    return all.size() == 1 && axis_of_example(all[0], rank) == rank - 1;
  };
  if (const auto* const norm = config::get_if<layers::LayerNormalization>(&layer)) return !is_last(norm->axis);
  if (const auto* const norm = config::get_if<layers::UnitNormalization>(&layer)) return !is_last(norm->axis);
  return config::holds_alternative<layers::GroupNormalization>(layer);
}

/// Rejects layers whose output depends on the amount of padding although they pass the mask on.
void require_no_counted_padding(const ModelOptions& options, const Model& whole, const Model& shorter) {
  const Wiring wiring = wiring_of(options);
  for (std::size_t i = 0, listed = 0; i < whole.layers.size(); ++i, ++listed) {
    while (!wiring.used[listed]) ++listed;  // left out of the model
    const LayerSummary& layer = whole.layers[i];
    const Layer& described = options.layers[wiring.weights_of[listed]].value;
    const bool has_steps = layer.output_shape != shorter.layers[i].output_shape;
    if (has_steps && has_activity_regularizer(described)) {
      throw Error(
          fmt::format("the activity regularizer of '{}' counts the steps of padding, so the loss depends on their "
                      "number; remove it, or data.sequences",
                      layer.name));
    }
    if (has_steps && goes_backwards(described)) {
      throw Error(
          fmt::format("with go_backwards and return_sequences '{}' gives the steps of padding first, so the result "
                      "depends on their number; remove one of the two, or data.sequences",
                      layer.name));
    }
    const auto* const flip = config::get_if<layers::Flip>(&described);
    const auto flipped = flip != nullptr ? axis_of_example(flip->axis, layer.output_shape.rank()) : std::nullopt;
    if (flipped && layer.output_shape[*flipped] != shorter.layers[i].output_shape[*flipped]) {
      throw Error(
          fmt::format("'{}' reverses the steps, so the result depends on the number of padded steps; remove it, or "
                      "data.sequences",
                      layer.name));
    }
    if (has_steps && normalizes_over_steps(described, layer.output_shape.rank())) {
      throw Error(
          fmt::format("'{}' normalizes over all steps, those of padding too, so the result depends on their number; "
                      "use layer_normalization over the last axis",
                      layer.name));
    }
  }
}

void require_same_variables(const Model& whole, const Model& shorter, std::int64_t steps, std::int64_t length) {
  for (std::size_t i = 0; i < whole.variables.size(); ++i) {
    const VariableSpec &one = whole.variables[i].spec, &other = shorter.variables[i].spec;
    if (one.shape == other.shape) continue;
    throw Error(
        fmt::format("the shape of '{}' depends on the number of time steps: {} at {}, {} at {}; use a layer that takes "
                    "any number of them before it, such as lstm or global_average_pooling1d",
                    one.name, one.shape.text(), steps, other.shape.text(), length));
  }
}

bool same_ids(const ModelGraph& a, const ModelGraph& b) {
  const auto same_assignment = [](const Assignment& one, const Assignment& other) {
    return one.variable == other.variable && one.value == other.value;
  };
  return std::ranges::equal(a.inputs, b.inputs, {}, &ModelInput::value, &ModelInput::value) && a.outputs == b.outputs &&
         a.variables == b.variables && a.gradients == b.gradients && a.penalty == b.penalty &&
         std::ranges::equal(a.assignments, b.assignments, same_assignment);
}

/// Whether a step can use either graph's values in place of the other's.
bool are_alike(const ModelGraph& a, const ModelGraph& b) {
  if (!same_but_for_shapes(a.graph, b.graph) || !same_ids(a, b)) return false;
  const auto same_spec = [&](ValueId value) { return a.graph.spec(value) == b.graph.spec(value); };
  const auto same_sums = [&](const ModelOutput& output) {
    return same_spec(output.loss) && std::ranges::all_of(output.metrics, same_spec);
  };
  return std::ranges::all_of(a.outputs, same_sums) &&
         std::ranges::all_of(ops::collectives_of(a.graph), [&](const ops::PlacedCollective& collective) {
           // Places exchange whole rows of the longest sequence, whatever of them they have computed.
           return collective.op->axis == ops::Axis::kModel || std::ranges::all_of(collective.inputs, same_spec);
         });
}

/// The layer of the first node in which two graphs differ; the last one's if there is none.
std::string first_that_differs(const Graph& a, const Graph& b) {
  const auto same = [](const Node& one, const Node& other) {
    return one.layer == other.layer && one.op->name() == other.op->name();
  };
  const auto node = std::ranges::mismatch(a.nodes(), b.nodes(), same).in1;
  return node == a.nodes().end() ? a.nodes().back().layer : node->layer;
}

bool places_are_alike(const Model& a, const Model& b) {
  const auto sharding = [](const ModelVariable& variable) { return variable.sharding; };
  if (!std::ranges::equal(a.variables, b.variables, {}, sharding, sharding)) return false;
  for (int place = 0; place < a.places(); ++place) {
    for (const bool trains : {true, false}) {
      if (!are_alike(a.graph(trains, place), b.graph(trains, place))) return false;
    }
  }
  return true;
}

void require_labels(const Model& model, std::size_t output, const ModelGraph& shorter, std::int64_t steps,
                    std::int64_t length) {
  const ModelGraph& whole = model.training;
  const Shape &all = whole.graph.spec(whole.outputs[output].labels).shape,
              &cut = shorter.graph.spec(shorter.outputs[output].labels).shape;
  if (all == cut) return;
  if (model.outputs[output].loss_sums == 1) {
    throw Error(
        "the loss counts the steps of padding, as the output carries no mask of them; use layers that pass it on");
  }
  const auto rest = [](const Shape& shape) { return std::vector(shape.dims().begin() + 1, shape.dims().end()); };
  if (all[0] == steps && cut[0] == length && rest(all) == rest(cut)) return;
  throw Error(
      fmt::format("expected labels of an example, or of each of its steps, found the shape {}, and {} at {} steps",
                  all.text(), cut.text(), length));
}

}  // namespace

void add_shorter_graphs(Model& model, const ModelOptions& options, std::span<const std::int64_t> lengths,
                        const std::function<Model(const ModelOptions&, config::Errors&)>& build) {
  require_masked_input(options);
  const std::int64_t steps = options.all_inputs().front().shape[0];
  for (const std::int64_t length : lengths) {
    ModelOptions of_length = options;
    if (of_length.inputs.value.empty()) {
      of_length.input_shape.value->front() = length;
    } else {
      of_length.inputs.value.entries.front().second.shape.value[0] = length;
    }
    config::Errors found;
    Model shorter = build(of_length, found);
    if (!found.empty()) {
      const std::string text = found.text();
      throw Error(fmt::format("at {} steps the model does not fit: {}", length, text.substr(0, text.find('\n'))));
    }
    require_same_variables(model, shorter, steps, length);
    require_no_counted_padding(options, model, shorter);
    for (std::size_t i = 0; i < model.outputs.size(); ++i) require_labels(model, i, shorter.training, steps, length);
    if (!places_are_alike(model, shorter)) {
      throw Error(
          fmt::format("at {} steps '{}' computes with other operations than at {}, as recurrent_dropout does, which "
                      "draws for each step; leave that out, or data.sequences",
                      length, first_that_differs(model.training.graph, shorter.training.graph), steps));
    }
    model.shorter.push_back(
        {length, std::move(shorter.training), std::move(shorter.evaluation), std::move(shorter.other_places)});
  }
}

}  // namespace mirrortrain
