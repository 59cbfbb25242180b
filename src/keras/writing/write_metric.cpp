#include "keras/writing/write_metric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "keras/class_names.h"
#include "keras/metric_output.h"
#include "keras/writing/chosen_options.h"
#include "keras/writing/to_json.h"

namespace mirrortrain::keras {
namespace {

constexpr double kUsual = 0.5;
/// Keras's F scores take no threshold of 0, which is the logit of a probability of 0.5. No logit is between.
constexpr double kAboveZero = 1e-30;

/// A metric as it is being written, with the reason for which Keras has none with its figure.
struct Writing {
  std::string type;  ///< here
  Json options;
  std::string refused;
};

double logit_of(double probability) {
  if (probability == kUsual) return 0.0;
  return std::clamp(std::log(probability) - std::log1p(-probability), -1e30, 1e30);
}

std::optional<double> number_at(const Json& options, const char* key) {
  const Json& value = at(options, key);
  if (value.is_array() && value.size() == 1 && value[0].is_number()) return value[0].get<double>();
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

/// The threshold that Keras compares the output with; none, with `refused`, where there is no such.
std::optional<double> threshold_there(Writing& metric, double here, OutputSeen seen) {
  switch (seen) {
    case OutputSeen::kAsItIs: return here;
    case OutputSeen::kThroughSigmoid: return logit_of(here);
    case OutputSeen::kThroughSoftmax:
      metric.refused =
          "the loss takes logits, and Keras compares each with a threshold, which no probability of a "
          "softmax is";
      return std::nullopt;
    case OutputSeen::kBySign: break;
  }
  metric.refused = "labels of hinge losses may be -1, which Keras's metrics of classes take for true, or for wrong";
  return std::nullopt;
}

/// Refuses what is not among the thresholds that Keras takes.
std::optional<double> within_range(Writing& metric, std::optional<double> threshold, double here) {
  if (!threshold || (*threshold >= 0 && *threshold <= 1)) return threshold;
  metric.refused = fmt::format(
      "the threshold {:g} is {:.4g} of logits, which the loss takes, and Keras's is from 0 to "
      "1, which are the probabilities from 0.5 to 0.731",
      here, *threshold);
  return std::nullopt;
}

void write_counts(Writing& metric, OutputSeen seen) {
  const std::optional<double> given =
      number_at(metric.options, metric.options.contains("threshold") ? "threshold" : "thresholds");
  metric.options.erase("threshold");
  if (!given && (seen == OutputSeen::kAsItIs || (metric.options.contains("top_k") && seen != OutputSeen::kBySign)))
    return;  // Keras has the same
  const double here = given.value_or(kUsual);
  const auto there = within_range(metric, threshold_there(metric, here, seen), here);
  if (there) metric.options["thresholds"] = *there;
}

void write_sides(Writing& metric, OutputSeen seen) {
  const auto there = threshold_there(metric, number_at(metric.options, "threshold").value_or(kUsual), seen);
  if (there) metric.options["threshold"] = *there;
}

/// `of_probabilities`: whether no output, or what is made of it, is below 0.
void write_f_score(Writing& metric, std::int64_t width, bool of_probabilities, OutputSeen seen) {
  if (!metric.options.contains("average")) metric.options["average"] = "macro";
  const std::optional<double> given = number_at(metric.options, "threshold");
  if (!given && width != 1 && seen != OutputSeen::kBySign) return;  // the largest, as in Keras
  if (given == 0.0 && width == 1 && of_probabilities) {  // all are true, as they are in Keras without a threshold
    metric.options.erase("threshold");
    return;
  }
  const double here = given.value_or(kUsual);
  const auto there = within_range(metric, threshold_there(metric, here, seen), here);
  if (there) metric.options["threshold"] = std::max(*there, kAboveZero);
}

/// What Keras calls accuracy depends on the output's shape, and here on the loss.
Json accuracy_json(const Loss& loss, std::int64_t width, OutputSeen seen, Writing& metric) {
  if (seen == OutputSeen::kBySign) {
    metric.refused = "it is that of signs, and Keras compares the output of hinge losses with 0.5";
    return nullptr;
  }
  const bool of_each = ops::is_binary(loss_op(loss).kind);
  if (!of_each || (width == 1 && seen == OutputSeen::kAsItIs)) return "accuracy";
  return object_json("keras.metrics", class_named("binary_accuracy"),
                     {{"threshold", seen == OutputSeen::kThroughSigmoid ? 0.0 : kUsual}});
}

/// What Keras requires, where it is known here from the output, or is another default.
void add_known(const std::string& name, std::int64_t width, bool of_numbers, Json& options) {
  const bool is_iou = name == "iou" || name == "mean_iou" || name == "one_hot_iou" || name == "one_hot_mean_iou";
  if (is_iou && !options.contains("num_classes")) options["num_classes"] = std::max<std::int64_t>(width, 2);
  if (name == "iou" || name == "mean_iou") {
    if (!options.contains("sparse_y_true")) options["sparse_y_true"] = of_numbers;
    if (!options.contains("sparse_y_pred")) options["sparse_y_pred"] = false;
  }
}

/// Makes the options those with the same figure in Keras, or says why there are none.
void keep_figure(Writing& metric, const Loss& loss, std::int64_t width) {
  const OutputSeen seen = output_seen(loss);
  const bool are_logits = takes_logits(loss), of_numbers = targets_of(loss) == Targets::kClassNumbers;
  const MetricKind kind = metric_kind(metric.type);
  const bool wants_one_hot = kind == MetricKind::kCounts || kind == MetricKind::kFScores || kind == MetricKind::kAuc ||
                             kind == MetricKind::kAtBound;
  if (of_numbers && wants_one_hot) {
    metric.refused = "the labels are class numbers, and Keras's takes one-hot labels";
    return;
  }
  switch (kind) {
    case MetricKind::kCounts: return write_counts(metric, seen);
    case MetricKind::kSides: return write_sides(metric, seen);
    case MetricKind::kFScores: return write_f_score(metric, width, ops::is_binary(loss_op(loss).kind), seen);
    case MetricKind::kAuc:
      if (seen == OutputSeen::kThroughSoftmax) {
        metric.refused = "the loss takes logits, of which Keras's from_logits is a sigmoid, and here a softmax";
      } else if (are_logits) {
        metric.options["from_logits"] = true;
      }
      return;
    case MetricKind::kAtBound:
    case MetricKind::kDivergence:
      if (are_logits) metric.refused = "the loss takes logits, and Keras's takes nothing but probabilities";
      return;
    case MetricKind::kCrossentropies:
      if (are_logits && !metric.options.contains("from_logits")) metric.options["from_logits"] = true;
      return;
    case MetricKind::kOther: return add_known(metric.type, width, of_numbers, metric.options);
  }
}

}  // namespace

Json metric_json(const Metric& metric, const Loss& loss, std::int64_t width, const std::string& where,
                 Problems& problems) {
  const Chosen of = chosen_options(metric);
  const auto refuse = [&](const std::string& why) {
    problems.add(where, fmt::format("{}: {}; leave it out of metrics in the run's config.yaml, as it changes no weight",
                                    of.name, why));
    return nullptr;
  };
  Writing writing{of.name, options_json(of.options, *of.type, where, problems), ""};
  if (of.name == "accuracy") {
    Json accuracy = accuracy_json(loss, width, output_seen(loss), writing);
    return writing.refused.empty() ? accuracy : Json(refuse(writing.refused));
  }
  if (of.name == "top_k_accuracy") {
    const bool of_numbers = targets_of(loss) == Targets::kClassNumbers;
    writing.type = of_numbers ? "sparse_top_k_categorical_accuracy" : "top_k_categorical_accuracy";
  }
  const std::string class_name = class_named(writing.type);
  if (class_name.empty()) return refuse("does not exist in Keras");
  keep_figure(writing, loss, width);
  if (!writing.refused.empty()) return refuse(writing.refused);
  return object_json("keras.metrics", class_name, std::move(writing.options));
}

}  // namespace mirrortrain::keras
