#include "train/warnings/labels_of_sgd.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <variant>

#include "train/warnings/feature_scale.h"

namespace mirrortrain {
namespace {

/// Whether a layer's activation keeps its values small, however large its weights become.
bool limits_values(const Layer& layer) {
  constexpr auto kLimited = std::to_array<std::string_view>(
      {"sigmoid", "hard_sigmoid", "tanh", "hard_tanh", "softsign", "softmax", "relu6", "sparse_sigmoid", "sparsemax"});
  return config::visit(
      [&](const auto& options) {
        if constexpr (requires { name_of(options.activation); }) {
          return std::ranges::count(kLimited, name_of(options.activation)) > 0;
        }
        return false;
      },
      layer);
}

/// How many kernels there are one behind the other, at most.
std::int64_t trained_kernels(const Model& model) {
  return std::ranges::count_if(
      model.variables, [](const ModelVariable& one) { return one.spec.trainable && one.spec.shape.rank() >= 2; });
}

/// Whether all features have means near 0.
bool are_centered(const CheckedConfiguration& checked) {
  for (std::size_t i = 0; i < checked.examples.inputs.size(); ++i) {
    if (!is_normalized(checked, i)) return false;
  }
  return true;
}

/// How large labels are for a learning rate. By trying: of networks of 1 and 2 hidden layers of 4 to 64 units, with
/// normalized features or ones of 0 to 1, with batch normalization and without, and with momentum of 0 and 0.9, all
/// learned below 0.1, and none above 3: sums became infinite, or every relu gave 0.
double size_for_rate(double rate, const optimizers::Sgd& sgd, const data::Array& labels, const LabelNumbers& numbers) {
  // A mean is over the numbers of an example, too.
  return rate / std::sqrt(1 - sgd.momentum) * numbers.spread.root_mean_square() /
         static_cast<double>(labels.row_elements());
}

bool warn_of_divergence(const CheckedConfiguration& checked, const data::Dataset& train, std::size_t output,
                        const optimizers::Sgd& sgd, const LabelNumbers& numbers, config::Errors& errors) {
  constexpr double kDiverges = 3, kLearns = 0.1;
  const bool is_clipped = sgd.clipnorm || checked.values().gradients.clip_norm || checked.values().gradients.clip_value;
  const bool is_limited =
      std::ranges::any_of(checked.values().model->layers, [](const auto& layer) { return limits_values(layer.value); });
  // A schedule that begins with a small rate is meant to avoid this.
  const double rate = learning_rate_at(sgd.learning_rate, 1);
  const double size = size_for_rate(rate, sgd, train.labels(output), numbers);
  if (is_clipped || is_limited || trained_kernels(*checked.model) < 2 || size < kDiverges) return false;
  const auto& loss = checked.objectives[output].loss;
  errors.warn(
      loss.place, loss.path,
      fmt::format("the labels go from {:g} to {:g}, and sgd's steps are as large as the error, so that with a "
                  "learning rate of {:g} training diverges or stalls; subtract {:.3g} from the labels in the data and "
                  "divide by {:.3g}, or take a learning rate of {:g}",
                  numbers.least, numbers.most, rate, numbers.mean(), numbers.deviation(),
                  std::pow(10.0, std::floor(std::log10(rate * kLearns / size)))));
  return true;
}

/// A bias comes nearer to the labels' mean by a part of what is left in each step.
bool warn_of_slowness(const CheckedConfiguration& checked, std::size_t output, std::int64_t steps,
                      const optimizers::Sgd& sgd, const LabelNumbers& numbers, config::Errors& errors) {
  constexpr double kFar = 3;  // times the deviation: the loss is ten times that of always answering the mean
  // Layers in a row, and features that are mostly of one sign, move together, which is faster.
  if (steps == 0 || trained_kernels(*checked.model) != 1 || !are_centered(checked)) return false;
  const double rate = largest_rate(sgd.learning_rate, steps);
  const double left = std::pow(std::max(0.0, 1 - 2 * rate / (1 - sgd.momentum)), static_cast<double>(steps));
  if (std::abs(numbers.mean()) * left <= kFar * numbers.deviation()) return false;
  const auto& loss = checked.objectives[output].loss;
  errors.warn(
      loss.place, loss.path,
      fmt::format(
          "the labels go from {:g} to {:g}, and outputs begin around 0 and come to about {:.2g} in the {} steps "
          "of this run, so that it does not reach them; subtract {:.3g} from the labels in the data, or train "
          "longer or with a larger learning rate",
          numbers.least, numbers.most, numbers.mean() * (1 - left), steps, numbers.mean()));
  return true;
}

}  // namespace

bool warn_of_labels_of_sgd(const CheckedConfiguration& checked, const data::Dataset& train, std::size_t output,
                           std::int64_t steps, const LabelNumbers& numbers, config::Errors& errors) {
  const Configuration& values = checked.values();
  const bool is_simple = values.optimizer && values.optimizer->all.size() == 1 && checked.objectives.size() == 1 &&
                         !values.model->initial_weights && numbers.least < numbers.most;
  const auto* const sgd = is_simple ? std::get_if<optimizers::Sgd>(&values.optimizer->all.front()) : nullptr;
  if (sgd == nullptr) return false;
  const auto* const squares = config::get_if<losses::MeanSquaredError>(&checked.objectives[output].loss.value);
  if (squares == nullptr || squares->reduction == losses::Reduction::kSum) return false;
  return warn_of_divergence(checked, train, output, *sgd, numbers, errors) ||
         (train.labels(output).row_elements() == 1 && warn_of_slowness(checked, output, steps, *sgd, numbers, errors));
}

}  // namespace mirrortrain
