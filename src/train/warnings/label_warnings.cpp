#include "train/warnings/label_warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "train/warnings/label_numbers.h"
#include "train/warnings/large_labels.h"

namespace mirrortrain {
namespace {

/// The layer of the model that is an output.
const LayerSummary& layer_of_output(const CheckedConfiguration& checked, std::size_t output) {
  return *std::ranges::find(checked.model->layers, checked.model->outputs[output].name, &LayerSummary::name);
}

void warn_of_range(const CheckedConfiguration& checked, const data::Array& labels, std::size_t output,
                   const LabelNumbers& numbers, config::Errors& errors) {
  const auto& loss = checked.objectives[output].loss;
  const auto& range = checked.model->outputs[output].range;
  const bool is_softmax = layer_of_output(checked, output).type == "softmax";
  if (!range || is_softmax || targets_of(loss.value) != Targets::kNumbers) return;
  if (config::holds_alternative<losses::CosineSimilarity>(loss.value)) return;  // compares directions
  if (config::holds_alternative<losses::Formula>(loss.value)) return;           // may scale them
  const bool are_no_counts = config::holds_alternative<losses::Poisson>(loss.value) && numbers.least < 0;
  if (are_no_counts) return;  // has a warning of its own
  if (numbers.least >= range->first && numbers.most <= range->second) return;
  errors.warn(
      loss.place, loss.path,
      fmt::format("labels go from {:g} to {:g}, but the activation of the last layer gives {} alone; remove it, "
                  "or bring the labels into its range{}",
                  numbers.least, numbers.most,
                  std::isinf(range->second) ? fmt::format("numbers above {:g}", range->first)
                                            : fmt::format("{:g} to {:g}", range->first, range->second),
                  are_bytes(labels, numbers) && range->second == 1 ? fmt::format(", by a loss {}", kByteLoss) : ""));
}

/// What a loss or a metric does with a label that it is not made for; "" if all are fine. `name`: its type's.
std::string unfit(std::string_view name, const LabelNumbers& numbers) {
  if (name == losses::Poisson::kName && numbers.least < 0) {
    return fmt::format(
        "poisson takes labels for counts, which cannot be negative, and they go from {:g} to {:g}; for such numbers "
        "use mean_squared_error",
        numbers.least, numbers.most);
  }
  if (name == losses::MeanSquaredLogarithmicError::kName && numbers.least < 0) {
    return fmt::format(
        "takes every label below 0 for 0, as it has no logarithm, and they go from {:g} to {:g}; use "
        "mean_squared_error",
        numbers.least, numbers.most);
  }
  if (name == losses::MeanAbsolutePercentageError::kName && numbers.zeros > 0) {
    return fmt::format(
        "divides by the label, and {} of {} labels are 0, whose errors count billions of times; use "
        "mean_absolute_error, or leave these examples out",
        numbers.zeros, numbers.count());
  }
  return "";
}

void warn_of_unfit(const CheckedConfiguration& checked, std::size_t output, const LabelNumbers& numbers,
                   config::Errors& errors) {
  const Objective& objective = checked.objectives[output];
  const auto warn = [&](const auto& located) {
    const std::string_view name =
        config::visit([](const auto& held) { return std::string_view(held.kName); }, located.value);
    if (const std::string text = unfit(name, numbers); !text.empty()) errors.warn(located.place, located.path, text);
  };
  warn(objective.loss);
  for (const config::Located<Metric>& metric : objective.metrics) warn(metric);
}

void warn_of_no_distributions(const CheckedConfiguration& checked, const data::Array& labels, std::size_t output,
                              const LabelNumbers& numbers, config::Errors& errors) {
  const auto& loss = checked.objectives[output].loss;
  const bool takes_distributions = config::holds_alternative<losses::CategoricalCrossentropy>(loss.value) ||
                                   config::holds_alternative<losses::CategoricalFocalCrossentropy>(loss.value) ||
                                   config::holds_alternative<losses::KlDivergence>(loss.value);
  const std::int64_t classes = labels.row_shape().rank() == 0 ? 1 : labels.row_shape().back();
  if (!takes_distributions || classes < 2 || numbers.groups_apart_from_one == 0) return;
  const bool are_of_several = numbers.most <= 1;
  errors.warn(
      loss.place, loss.path,
      fmt::format("{} of {} label rows do not add up to 1, such as one that adds up to {:g}, but this loss takes each "
                  "for the probabilities of {} classes of which an example has one; {}",
                  numbers.groups_apart_from_one, numbers.groups, numbers.first_sum_apart, classes,
                  are_of_several ? "where it may have several or none, use binary_crossentropy with sigmoid"
                                 : "divide each row by its sum"));
}

}  // namespace

void warn_of_label_numbers(const CheckedConfiguration& checked, const data::Dataset& train, std::size_t output,
                           std::int64_t steps, config::Errors& errors) {
  const Targets targets = targets_of(checked.objectives[output].loss.value);
  const bool are_numbers = targets == Targets::kNumbers || targets == Targets::kProbabilities;
  if (!are_numbers || checked.wanted().one_hot_depth(output) > 0) return;
  const LabelNumbers numbers = label_numbers(train, output);
  const data::Array& labels = train.labels(output);
  if (numbers.count() == 0) return;
  warn_of_range(checked, labels, output, numbers, errors);
  warn_of_unfit(checked, output, numbers, errors);
  warn_of_no_distributions(checked, labels, output, numbers, errors);
  warn_of_large_labels(checked, train, output, steps, numbers, errors);
}

}  // namespace mirrortrain
