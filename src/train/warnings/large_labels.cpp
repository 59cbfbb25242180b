#include "train/warnings/large_labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <variant>

#include "model/wiring.h"
#include "train/warnings/feature_scale.h"
#include "train/warnings/labels_of_sgd.h"

namespace mirrortrain {
namespace {

/// Whether the output is a fixed layer that scales to the labels' range, as `init` writes it.
bool has_fixed_end(const Model& model, std::size_t output) {
  const std::string& last = model.outputs[output].name;
  const auto own = [&](const ModelVariable& one) { return one.spec.name.starts_with(last + "/"); };
  return std::ranges::any_of(model.variables, own) &&
         std::ranges::none_of(model.variables,
                              [&](const ModelVariable& one) { return own(one) && one.spec.trainable; });
}

/// Whether a loss has a gradient of at most 1, however large it is.
bool has_limited_gradient(const Loss& loss) {
  return config::holds_alternative<losses::MeanAbsoluteError>(loss) || config::holds_alternative<losses::Huber>(loss) ||
         config::holds_alternative<losses::LogCosh>(loss);
}

/// Whether a step changes a weight by about the learning rate, however large the loss: an optimizer that divides by the
/// gradient's size, or a limited gradient.
bool steps_by_rate(const Optimizer& optimizer, const Loss& loss) {
  const bool divides =
      std::holds_alternative<optimizers::Adam>(optimizer) || std::holds_alternative<optimizers::AdamW>(optimizer) ||
      std::holds_alternative<optimizers::Nadam>(optimizer) || std::holds_alternative<optimizers::Adamax>(optimizer) ||
      std::holds_alternative<optimizers::Rmsprop>(optimizer) || std::holds_alternative<optimizers::Lion>(optimizer);
  const auto* const sgd = std::get_if<optimizers::Sgd>(&optimizer);
  return divides || (sgd != nullptr && sgd->momentum == 0 && has_limited_gradient(loss));
}

/// The layer of the model that is an output, as it is written; null if there is none.
const config::Located<Layer>* written_output(const CheckedConfiguration& checked, std::size_t output) {
  const Wiring wiring = wiring_of(*checked.values().model);
  return output < wiring.outputs.size() ? &checked.values().model->layers[wiring.outputs[output]] : nullptr;
}

/// Whether an output is what its kernel makes of features, plus a bias that begins at 0.
bool is_plain_output(const CheckedConfiguration& checked, std::size_t output) {
  const config::Located<Layer>* const layer = written_output(checked, output);
  if (layer == nullptr) return false;
  if (config::holds_alternative<layers::Reshape>(layer->value) ||
      config::holds_alternative<layers::Flatten>(layer->value)) {
    return true;
  }
  return config::visit(
      [](const auto& options) {
        if constexpr (requires {
                        options.kernel_initializer;
                        options.bias_initializer;
                        options.activation;
                      }) {
          return std::holds_alternative<initializers::Zeros>(options.bias_initializer) &&
                 options.activation == ActivationName::kLinear;
        }
        return false;
      },
      layer->value);
}

/// About how far from 0 outputs are at most after so many steps, if all weights move together by the learning rate in
/// each: the last layer's sum of features, which the layers before it have increased alike; nullopt if that is not
/// known.
std::optional<double> reach_of(const CheckedConfiguration& checked, const data::Dataset& train, std::size_t output,
                               std::int64_t steps) {
  const Configuration& values = checked.values();
  if (steps == 0 || !values.optimizer || values.optimizer->all.size() != 1 || values.model->initial_weights ||
      checked.objectives.size() != 1 || !is_plain_output(checked, output)) {
    return std::nullopt;
  }
  const Optimizer& optimizer = values.optimizer->all.front();
  if (!steps_by_rate(optimizer, checked.objectives[output].loss.value)) return std::nullopt;
  const double moved = largest_rate(learning_rate_of(optimizer), steps) * static_cast<double>(steps);
  double reach = largest_feature(checked, train), width = 0;
  int kernels = 0;
  for (const ModelVariable& variable : checked.model->variables) {
    const Shape& shape = variable.spec.shape;
    if (!variable.spec.trainable || shape.rank() < 2) continue;
    width = static_cast<double>(shape.elements() / shape.back());  // the last one's stays
    reach *= kernels++ == 0 ? 1 : 1 + moved;
  }
  return reach * moved * (1 + width);
}

}  // namespace

void warn_of_large_labels(const CheckedConfiguration& checked, const data::Dataset& train, std::size_t output,
                          std::int64_t steps, const LabelNumbers& numbers, config::Errors& errors) {
  constexpr double kLarge = 1000, kNear = 10, kOutOfReach = 3;
  const auto& loss = checked.objectives[output].loss;
  const double largest = std::max(std::abs(numbers.least), std::abs(numbers.most));
  if (targets_of(loss.value) != Targets::kNumbers || config::holds_alternative<losses::Poisson>(loss.value) ||
      has_fixed_end(*checked.model, output)) {
    return;
  }
  if (largest > kLarge) {
    errors.warn(
        loss.place, loss.path,
        fmt::format("the labels go from {:g} to {:g}, and outputs begin around 0, so that training takes very long "
                    "or diverges; divide the labels in the data by {:g}",
                    numbers.least, numbers.most, std::pow(10.0, std::floor(std::log10(largest)))));
    return;
  }
  if (is_plain_output(checked, output) && warn_of_labels_of_sgd(checked, train, output, steps, numbers, errors)) return;
  const bool is_of_differences =
      config::holds_alternative<losses::MeanSquaredError>(loss.value) || has_limited_gradient(loss.value);
  const auto& range = checked.model->outputs[output].range;
  const bool is_limited = range && !std::isinf(range->second);
  const double away = std::max(std::abs(numbers.mean()), numbers.deviation());
  if (!is_of_differences || is_limited || away < kNear || numbers.least == numbers.most) return;
  const std::optional<double> reach = reach_of(checked, train, output, steps);
  if (!reach || away < kOutOfReach * *reach) return;
  const std::string remedy =
      are_bytes(train.labels(output), numbers)
          ? fmt::format("divide them by 255 in the loss: {}", kByteLoss)
          : fmt::format(
                "subtract {:.3g} from the labels in the data and divide by {:.3g}, or train longer or with a "
                "larger learning rate",
                numbers.mean(), numbers.deviation());
  errors.warn(loss.place, loss.path,
              fmt::format("the labels go from {:g} to {:g}, and outputs begin around 0 and move by about {:.2g} in the "
                          "{} steps of this run, so that it does not reach them; {}",
                          numbers.least, numbers.most, *reach, steps, remedy));
}

}  // namespace mirrortrain
