#include "train/warnings/layer_warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/axes.h"
#include "model/wiring.h"
#include "strategy/topology.h"

namespace mirrortrain {
namespace {

/// The number that all elements of a kernel begin with; nullopt if they differ.
std::optional<double> common_value(const Initializer& initializer) {
  if (std::holds_alternative<initializers::Zeros>(initializer)) return 0;
  if (std::holds_alternative<initializers::Ones>(initializer)) return 1;
  const auto* const constant = std::get_if<initializers::Constant>(&initializer);
  return constant == nullptr ? std::nullopt : std::optional(constant->value);
}

/// Of a layer that has a kernel.
const Initializer* kernel_initializer(const Layer& layer) {
  return config::visit(
      [](const auto& options) -> const Initializer* {
        if constexpr (requires { options.kernel_initializer; }) return &options.kernel_initializer;
        return nullptr;
      },
      layer);
}

/// Units that begin alike get the same gradients, and stay alike; of kernels of zeros not even these arrive.
void warn_of_equal_kernels(const CheckedConfiguration& checked, const Wiring& wiring, config::Errors& errors) {
  const ModelOptions& model = *checked.values().model;
  if (model.initial_weights) return;
  std::vector<std::size_t> with_kernels;
  bool are_zeros = true;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const Initializer* const initializer = kernel_initializer(model.layers[i].value);
    if (!wiring.used[i] || wiring.weights_of[i] != i || initializer == nullptr) continue;
    const std::optional<double> value = common_value(*initializer);
    if (!value) return;
    are_zeros = are_zeros && *value == 0;
    with_kernels.push_back(i);
  }
  if (with_kernels.size() < 2) return;
  const config::Located<Layer>& first = model.layers[with_kernels.front()];
  errors.warn(first.place, first.path,
              fmt::format("the kernels of all {} layers begin with {}, so that {}; leave kernel_initializer out",
                          with_kernels.size(), are_zeros ? "zeros" : "one number each",
                          are_zeros ? "no gradient goes through them and they never learn"
                                    : "the units of a layer stay equal and do what one of them would"));
}

void warn_of_frozen_noise(const CheckedConfiguration& checked, config::Errors& errors) {
  const ModelOptions& model = *checked.values().model;
  if (model.freeze.value.empty() || model.initial_weights) return;
  errors.warn(model.freeze.place, model.freeze.path,
              "the layers that it freezes keep the random weights that they begin with, as there are no "
              "model.initial_weights; name a file of trained ones, or leave freeze out");
}

/// Whether a dense layer does nothing but multiply, for its own sake: no part of it is limited or kept apart.
bool only_multiplies(const layers::Dense& dense) {
  return dense.activation == ActivationName::kLinear && dense.trainable && dense.lora_rank.value_or(0) == 0 &&
         !dense.tied_to && !dense.kernel_regularizer && !dense.kernel_constraint && !dense.activity_regularizer;
}

/// The shape of a layer's output for an example; nullptr if it was not built.
const Shape* output_shape(const CheckedConfiguration& checked, const std::string& layer) {
  const auto& built = checked.model->layers;
  const auto found = std::ranges::find(built, layer, &LayerSummary::name);
  return found == built.end() ? nullptr : &found->output_shape;
}

/// The number that a layer's input has on its last axis; 0 if it is not known.
std::int64_t width_of_source(const CheckedConfiguration& checked, const Wiring& wiring, int source) {
  if (source < 0) return 0;
  if (wiring.is_input(source)) {
    const Shape shape = checked.values().model->all_inputs()[static_cast<std::size_t>(source)].shape;
    return shape.rank() == 0 ? 0 : shape.back();
  }
  const Shape* const shape = output_shape(checked, wiring.names[wiring.layer_of(source)]);
  return shape == nullptr || shape->rank() == 0 ? 0 : shape->back();
}

/// A narrow layer between two wide ones limits their rank, on purpose; others can do no more than the second alone.
void warn_of_products(const CheckedConfiguration& checked, const Wiring& wiring, config::Errors& errors) {
  const ModelOptions& model = *checked.values().model;
  std::vector<int> readers(model.layers.size(), 0);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    for (const int source : wiring.sources[i]) {
      if (source >= 0 && !wiring.is_input(source)) ++readers[wiring.layer_of(source)];
    }
  }
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const auto* const second = config::get_if<layers::Dense>(&model.layers[i].value);
    if (!wiring.used[i] || second == nullptr || wiring.sources[i].size() != 1 || wiring.weights_of[i] != i) continue;
    const int source = wiring.sources[i].front();
    if (source < 0 || wiring.is_input(source)) continue;
    const std::size_t before = wiring.layer_of(source);
    const auto* const first = config::get_if<layers::Dense>(&model.layers[before].value);
    const bool is_alone = readers[before] == 1 && wiring.weights_of[before] == before &&
                          std::ranges::count(wiring.outputs, before) == 0 &&
                          std::ranges::count(wiring.weights_of, before) == 1;
    // A fixed second layer brings the output to the labels' range, as `init` writes it.
    const bool are_trained =
        second->trainable && !model.freezes(wiring.names[i]) && !model.freezes(wiring.names[before]);
    if (first == nullptr || !is_alone || !are_trained || !only_multiplies(*first) || second->tied_to ||
        second->lora_rank) {
      continue;
    }
    const std::int64_t from = width_of_source(checked, wiring, wiring.sources[before].front());
    if (from == 0 || first->units < std::min(from, second->units)) continue;
    errors.warn(model.layers[before].place, model.layers[before].path,
                fmt::format("has no activation, and '{}', which reads it, is dense too: together they can do no more "
                            "than '{}' alone; add activation: relu, or leave it out",
                            wiring.names[i], wiring.names[i]));
  }
}

}  // namespace

void warn_of_idle_layers(const CheckedConfiguration& checked, config::Errors& errors) {
  const Wiring wiring = wiring_of(*checked.values().model);
  warn_of_frozen_noise(checked, errors);
  warn_of_equal_kernels(checked, wiring, errors);
  warn_of_products(checked, wiring, errors);
}

int fewest_batch_parts(const StrategyOptions& options) {
  std::int64_t replicas = options.replicas.value_or(1);
  if (options.mesh) replicas = std::max(replicas, number_of(options.mesh->data).value_or(1));
  if (const auto* const listed = std::get_if<std::vector<DeviceId>>(&options.devices); listed && !options.mesh) {
    replicas = std::max(replicas, std::ssize(*listed));
  }
  return static_cast<int>(replicas);
}

void warn_of_lone_rows(const CheckedConfiguration& checked, int parts, config::Errors& errors) {
  const Configuration& values = checked.values();
  const std::int64_t batch = values.data.global_batch_size;
  if (parts < 1 || rows_of_replica(batch, 0, parts).count > 1) return;
  const Wiring wiring = wiring_of(*values.model);
  for (std::size_t i = 0; i < values.model->layers.size(); ++i) {
    const config::Located<Layer>& layer = values.model->layers[i];
    const auto* const norm = config::get_if<layers::BatchNormalization>(&layer.value);
    if (!wiring.used[i] || norm == nullptr || norm->renorm || !norm->trainable) continue;
    if (values.model->freezes(wiring.names[i]) || (norm->synchronized && batch > 1)) continue;
    const Shape* const shape = output_shape(checked, wiring.names[i]);
    if (shape == nullptr || shape->rank() == 0) continue;
    const auto axis = axis_of_example(norm->axis, shape->rank());
    if (!axis || shape->elements() != (*shape)[*axis]) continue;  // positions are normalized too
    errors.warn(
        layer.place, layer.path,
        fmt::format("each replica has one example of a global batch of {}, whose mean is itself, so that every output "
                    "is beta in training, whatever the example; use a larger data.global_batch_size, {}or "
                    "layer_normalization",
                    batch, batch > 1 ? "fewer replicas, synchronized: true, " : ""));
  }
}

}  // namespace mirrortrain
