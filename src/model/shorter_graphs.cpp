#include "model/shorter_graphs.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"
#include "graph/ops/collective.h"
#include "model/axes.h"
#include "model/wiring.h"

namespace mirrortrain {
namespace {

/// Every layer that reads the input must mask the padding.
void require_masked_input(const ModelOptions& options) {
  const Shape input(options.input_shape.value);
  if (input.rank() != 1) {
    throw Error(
        fmt::format("expected sequences of whole numbers as model.input_shape, [steps], found {}", input.text()));
  }
  config::Errors reported;
  const Wiring wiring = wire_layers(options.layers, reported);
  for (std::size_t i = 0; i < options.layers.size(); ++i) {
    if (std::ranges::count(wiring.sources[i], Wiring::kModelInput) == 0) continue;
    const auto* const embedding = std::get_if<layers::Embedding>(&options.layers[i].value);
    if (embedding != nullptr && embedding->mask_zero) continue;
    throw Error(
        fmt::format("'{}' reads the model's input and counts padding like anything else; expected an embedding "
                    "with mask_zero: true",
                    wiring.names[i]));
  }
}

/// Rejects layers whose output depends on the amount of padding although they pass the mask on.
void require_no_counted_padding(const ModelOptions& options, const Model& whole, const Model& shorter) {
  for (std::size_t i = 0; i < whole.layers.size(); ++i) {
    const LayerSummary& layer = whole.layers[i];
    const bool has_steps = layer.output_shape != shorter.layers[i].output_shape;
    if (has_steps && goes_backwards(options.layers[i].value)) {
      throw Error(
          fmt::format("with go_backwards and return_sequences '{}' gives the steps of padding first, so the result "
                      "depends on their number; remove one of the two, or data.sequences",
                      layer.name));
    }
    const auto* const flip = std::get_if<layers::Flip>(&options.layers[i].value);
    const auto flipped = flip != nullptr ? axis_of_example(flip->axis, layer.output_shape.rank()) : std::nullopt;
    if (flipped && layer.output_shape[*flipped] != shorter.layers[i].output_shape[*flipped]) {
      throw Error(
          fmt::format("'{}' reverses the steps, so the result depends on the number of padded steps; remove it, or "
                      "data.sequences",
                      layer.name));
    }
    if (has_steps && std::holds_alternative<layers::GroupNormalization>(options.layers[i].value)) {
      throw Error(
          fmt::format("'{}' normalizes over all steps, those of padding too, so the result depends on their number; "
                      "use layer_normalization",
                      layer.name));
    }
  }
}

void require_same_variables(const Model& whole, const Model& shorter, std::int64_t steps, std::int64_t length) {
  for (std::size_t i = 0; i < whole.variables.size(); ++i) {
    const VariableSpec &one = whole.variables[i].spec, &other = shorter.variables[i].spec;
    if (one.shape == other.shape) continue;
    throw Error(
        fmt::format("the shape of '{}' depends on the number of steps: {} at {}, {} at {}; use a layer that takes any "
                    "number of steps before it, such as lstm or global_average_pooling1d",
                    one.name, one.shape.text(), steps, other.shape.text(), length));
  }
}

bool same_ids(const ModelGraph& a, const ModelGraph& b) {
  const auto same_assignment = [](const Assignment& one, const Assignment& other) {
    return one.variable == other.variable && one.value == other.value;
  };
  return a.features == b.features && a.labels == b.labels && a.weights == b.weights && a.output == b.output &&
         a.mask == b.mask && a.loss == b.loss && a.metrics == b.metrics && a.variables == b.variables &&
         a.gradients == b.gradients && std::ranges::equal(a.assignments, b.assignments, same_assignment);
}

/// Whether a step can use either graph's values in place of the other's.
bool are_alike(const ModelGraph& a, const ModelGraph& b) {
  if (!same_but_for_shapes(a.graph, b.graph) || !same_ids(a, b)) return false;
  const auto same_spec = [&](ValueId value) { return a.graph.spec(value) == b.graph.spec(value); };
  return same_spec(a.loss) && std::ranges::all_of(a.metrics, same_spec) &&
         std::ranges::all_of(ops::collectives_of(a.graph), same_spec, &ops::Collective::input);
}

void require_labels(const Model& model, const ModelGraph& shorter, std::int64_t steps, std::int64_t length) {
  const ModelGraph& whole = model.training;
  const Shape &all = whole.graph.spec(whole.labels).shape, &cut = shorter.graph.spec(shorter.labels).shape;
  if (all == cut) return;
  if (!model.is_masked()) {
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
  const std::int64_t steps = options.input_shape.value[0];
  for (const std::int64_t length : lengths) {
    ModelOptions of_length = options;
    of_length.input_shape.value[0] = length;
    config::Errors found;
    Model shorter = build(of_length, found);
    if (!found.empty()) {
      const std::string text = found.text();
      throw Error(fmt::format("at {} steps the model does not fit: {}", length, text.substr(0, text.find('\n'))));
    }
    require_same_variables(model, shorter, steps, length);
    require_no_counted_padding(options, model, shorter);
    require_labels(model, shorter.training, steps, length);
    if (!are_alike(model.training, shorter.training) || !are_alike(model.evaluation, shorter.evaluation)) {
      throw Error(
          fmt::format("at {} steps the model has other operations than at {}; use another boundary", length, steps));
    }
    model.shorter.push_back({length, std::move(shorter.training), std::move(shorter.evaluation)});
  }
}

}  // namespace mirrortrain
