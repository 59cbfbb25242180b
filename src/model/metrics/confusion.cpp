#include "model/metrics/confusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/error.h"
#include "graph/ops/counts.h"
#include "model/metrics/labels.h"

namespace mirrortrain::metrics {
namespace {

using Sums = std::span<const double>;
constexpr double kUsual = 0.5;

std::optional<double> one_of(const ThresholdOption& option) {
  if (!option) return std::nullopt;
  const auto* const listed = std::get_if<std::vector<double>>(&*option);
  if (listed != nullptr) return listed->empty() ? std::nullopt : std::optional(listed->front());
  return std::get<double>(*option);
}

std::string outside(const ThresholdOption& option) {
  const std::optional<double> one = one_of(option);
  return one && (*one < 0 || *one > 1) ? fmt::format("expected a number from 0 to 1, found {:g}", *one) : "";
}

/// Negative and positive labels below the threshold, then above it.
MetricNode two_bins(const Loss& loss, const std::optional<double>& threshold, MetricValue value) {
  const float above = threshold_for(loss, threshold);
  return {std::make_shared<ops::BinCounts>(ops::Thresholds{above, above, 1}), true, std::move(value)};
}

/// One of the four counts.
MetricNode count_node(const Count& options, const Loss& loss, std::size_t which) {
  return two_bins(loss, one_of(options.thresholds), [which](Sums sums, std::int64_t) { return sums[which]; });
}

MetricNode share_node(const Share& options, const Loss& loss, const Shape& output, MetricValue value) {
  // Whatever is among the largest is a prediction, as in Keras, unless a threshold is given too.
  constexpr float kBelowAll = -1e10f;
  const std::optional<double> given = options.threshold ? options.threshold : one_of(options.thresholds);
  const float above = !given && options.top_k ? kBelowAll : threshold_for(loss, given);
  if (options.top_k && *options.top_k > output.back()) {
    throw Error(
        fmt::format("expected a `top_k` of at most the output's {} classes, found {}", output.back(), *options.top_k));
  }
  ops::BinCounts counts(ops::Thresholds{above, above, 1});
  counts.binning.top_k = static_cast<std::int32_t>(options.top_k.value_or(0));
  counts.binning.only_class = class_for(options.class_id, output);
  return {std::make_shared<ops::BinCounts>(counts), true, std::move(value)};
}

template <class Metric>
config::Section<Metric> counting(std::string_view help) {
  return config::Section<Metric>(help).template include<Count>().check(
      "thresholds", [](const Metric& metric) { return more_than_one(metric.thresholds, Metric::kName); });
}

template <class Metric>
config::Section<Metric> sharing(std::string_view help) {
  return config::Section<Metric>(help).template include<Share>().check(
      "thresholds", [](const Metric& metric) { return more_than_one(metric.thresholds, Metric::kName); });
}

}  // namespace

float threshold_for(const Loss& loss, const std::optional<double>& given) {
  return static_cast<float>(given.value_or(predicts_signs(loss) ? 0 : kUsual));
}

std::int32_t class_for(const std::optional<std::int64_t>& class_id, const Shape& output) {
  if (!class_id) return -1;
  if (*class_id < output.back()) return static_cast<std::int32_t>(*class_id);
  throw Error(fmt::format("expected a `class_id` from 0 to {}, as the output has {} classes, found {}",
                          output.back() - 1, output.back(), *class_id));
}

std::string more_than_one(const ThresholdOption& thresholds, std::string_view metric) {
  const auto* const listed = thresholds ? std::get_if<std::vector<double>>(&*thresholds) : nullptr;
  if (listed == nullptr || listed->size() == 1) return "";
  if (listed->empty()) return "expected a number, found an empty list";
  return fmt::format(
      "a metric has one value; list it once for each threshold: - {0}: {{thresholds: {1:g}}} and - {0}: "
      "{{thresholds: {2:g}}}",
      metric, (*listed)[0], (*listed)[1]);
}

config::Section<Count> Count::section() {
  return config::Section<Count>("What is counted.")
      .key("thresholds", &Count::thresholds, "A probability above it is a positive prediction; null: 0.5.",
           config::aliases("threshold"))
      .check("thresholds", [](const Count& options) { return outside(options.thresholds); });
}

config::Section<Share> Share::section() {
  return config::Section<Share>("What share is measured.")
      .key("threshold", &Share::threshold,
           "A probability above it is a positive prediction; null: 0.5, or, with `top_k`, none is too small.",
           config::between(0, 1))
      .key("thresholds", &Share::thresholds, "Keras's name of `threshold`.")
      .key("top_k", &Share::top_k, "Only so many largest outputs of each example, or position, are predictions.",
           config::at_least(1))
      .key("class_id", &Share::class_id, "The only class that counts; null: all outputs together.", config::at_least(0))
      .check("thresholds", [](const Share& options) -> std::string {
        if (options.threshold && options.thresholds) return "the same as `threshold`; remove one of the two";
        return outside(options.thresholds);
      });
}

MetricNode TrueNegatives::node(const Loss& loss, const Shape&) const { return count_node(*this, loss, 0); }
MetricNode FalsePositives::node(const Loss& loss, const Shape&) const { return count_node(*this, loss, 1); }
MetricNode FalseNegatives::node(const Loss& loss, const Shape&) const { return count_node(*this, loss, 2); }
MetricNode TruePositives::node(const Loss& loss, const Shape&) const { return count_node(*this, loss, 3); }

config::Section<TruePositives> TruePositives::section() {
  return counting<TruePositives>("The number of positive predictions that are right, over all outputs.");
}

config::Section<TrueNegatives> TrueNegatives::section() {
  return counting<TrueNegatives>("The number of negative predictions that are right, over all outputs.");
}

config::Section<FalsePositives> FalsePositives::section() {
  return counting<FalsePositives>("The number of positive predictions that are wrong, over all outputs.");
}

config::Section<FalseNegatives> FalseNegatives::section() {
  return counting<FalseNegatives>("The number of negative predictions that are wrong, over all outputs.");
}

MetricNode Precision::node(const Loss& loss, const Shape& output) const {
  return share_node(*this, loss, output, [](Sums sums, std::int64_t) { return ratio(sums[3], sums[1] + sums[3]); });
}

config::Section<Precision> Precision::section() {
  return sharing<Precision>("Precision: the share of the positive predictions that are right, over all outputs.");
}

MetricNode Recall::node(const Loss& loss, const Shape& output) const {
  return share_node(*this, loss, output, [](Sums sums, std::int64_t) { return ratio(sums[3], sums[2] + sums[3]); });
}

config::Section<Recall> Recall::section() {
  return sharing<Recall>("Recall: the share of the true labels that are predicted, over all outputs.");
}

}  // namespace mirrortrain::metrics
