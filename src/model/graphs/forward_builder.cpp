#include "model/graphs/forward_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <type_traits>
#include <variant>

#include "graph/ops/elementwise.h"

namespace mirrortrain {
namespace {

/// An op's message without the leading "conv2d: ", which the layer's path already names.
std::string without_op_name(const std::string& message) {
  const std::size_t colon = message.find(": ");
  const std::size_t name_end = message.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_");
  return colon != std::string::npos && name_end == colon ? message.substr(colon + 2) : message;
}

/// A layer of the same type with default options: wrong ones must not be used, even to infer shapes.
Layer with_defaults(const Layer& layer) {
  Layer made;
  made.emplace(layer.index());
  return made;
}

bool is_reverse(const Layer& layer) {
  const auto* const reuse = config::get_if<layers::Reuse>(&layer);
  return reuse != nullptr && reuse->reverse;
}

}  // namespace

ValueId as_dtype(Graph& graph, ValueId value, DType dtype) {
  return graph.spec(value).dtype == dtype ? value : graph.apply_one(ops::Cast(dtype), {value});
}

ForwardBuilder::ForwardBuilder(const ModelDescription& description, Mode mode, Model& model)
    : in_(description),
      model_(model),
      made_(mode == Mode::kTraining ? model.training : model.evaluation),
      builder_(mode, made_, model.variables) {}

bool ForwardBuilder::run() {
  const bool mixed = in_.precision == Precision::kMixedBfloat16;
  const std::vector<ModelInputOptions> inputs = in_.options.all_inputs();
  for (const ModelInputOptions& input : inputs) {
    const std::string name = inputs.size() == 1 ? "features" : input.name;
    made_.inputs.push_back({made_.graph.input(name, {DType::kFloat32, input.shape, true})});
  }
  made_.graph.set_layer("");
  for (const ModelInput& input : made_.inputs) {
    known_.push_back({mixed ? as_dtype(made_.graph, input.value, DType::kBfloat16) : input.value});
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

ForwardBuilder::Output ForwardBuilder::add_layer(std::size_t number, const Inputs& inputs) {
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

ValueId ForwardBuilder::build(const Layer& layer, std::span<const ValueId> inputs, bool in_reverse) {
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

ValueId ForwardBuilder::output_mask(const config::Located<Layer>& layer, const Layer& built) {
  const Masking masking = config::visit([](const auto& options) { return options.kMasking; }, built);
  builder_.mask_output(masking, type_name(built));
  for (const std::string& warning : builder_.warnings()) {
    if (builder_.mode() == Mode::kTraining) in_.errors.warn(layer.place, layer.path, warning);
  }
  return builder_.output_mask();
}

void check_reverse_calls(const ModelOptions& options, const Wiring& wiring, config::Errors& errors) {
  for (std::size_t i = 0; i < options.layers.size(); ++i) {
    const auto& layer = options.layers[i];
    const auto* const embedding = config::get_if<layers::ReversibleEmbedding>(&layer.value);
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

}  // namespace mirrortrain
