#include "model/metrics/confusion.h"

#include <fmt/format.h>

#include "base/error.h"
#include "graph/ops/counts.h"

namespace mirrortrain::metrics {
namespace {

using Sums = std::span<const double>;

/// hinge's outputs are not probabilities: their sign is the prediction.
float threshold_for(const Loss& loss, double threshold) {
  const bool by_sign = loss_op(loss).kind == ops::LossKind::kHinge && threshold == 0.5;
  return by_sign ? 0.0f : static_cast<float>(threshold);
}

/// Negative and positive labels below the threshold, then above it.
MetricNode two_bins(const Loss& loss, double threshold, MetricValue value) {
  const float above = threshold_for(loss, threshold);
  const ops::BinCounts counts({above, above, 1});
  return {std::make_shared<ops::BinCounts>(counts), true, std::move(value)};
}

/// The sums of ClassCounts for a class.
struct Class {
  double right, predicted, labels;
};
Class class_of(Sums sums, std::size_t k) { return {sums[3 * k], sums[3 * k + 1], sums[3 * k + 2]}; }

double f1_of(const Class& one) { return ratio(2 * one.right, one.predicted + one.labels); }

double f1_score(Sums sums, Average average) {
  Class all{};
  double mean = 0, weighted = 0;
  const std::size_t classes = sums.size() / 3;
  for (std::size_t k = 0; k < classes; ++k) {
    const Class one = class_of(sums, k);
    all = {all.right + one.right, all.predicted + one.predicted, all.labels + one.labels};
    mean += f1_of(one) / static_cast<double>(classes);
    weighted += f1_of(one) * one.labels;
  }
  switch (average) {
    case Average::kMicro: return f1_of(all);
    case Average::kWeighted: return ratio(weighted, all.labels);
    case Average::kMacro: break;
  }
  return mean;
}

double mean_iou(Sums sums, std::int64_t) {
  double sum = 0, counted = 0;
  for (std::size_t k = 0; k < sums.size() / 3; ++k) {
    const Class one = class_of(sums, k);
    const double either = one.predicted + one.labels - one.right;
    sum += ratio(one.right, either);
    counted += either > 0 ? 1 : 0;
  }
  return ratio(sum, counted);
}

}  // namespace

MetricNode Precision::node(const Loss& loss, const Shape&) const {
  return two_bins(loss, threshold, [](Sums sums, std::int64_t) { return ratio(sums[3], sums[1] + sums[3]); });
}

config::Section<Precision> Precision::section() {
  return config::Section<Precision>(
             "Precision: the share of the positive predictions that are right, over all outputs.")
      .key("threshold", &Precision::threshold, "A probability above it is a positive prediction.",
           config::between(0, 1));
}

MetricNode Recall::node(const Loss& loss, const Shape&) const {
  return two_bins(loss, threshold, [](Sums sums, std::int64_t) { return ratio(sums[3], sums[2] + sums[3]); });
}

config::Section<Recall> Recall::section() {
  return config::Section<Recall>("Recall: the share of the true labels that are predicted, over all outputs.")
      .key("threshold", &Recall::threshold, "A probability above it is a positive prediction.", config::between(0, 1));
}

MetricNode F1Score::node(const Loss& loss, const Shape& output) const {
  const bool is_single = output.back() == 1;
  const ops::ClassCounts by_largest(ops::Predicted::kLargest);
  const ops::ClassCounts above(ops::Predicted::kAbove, threshold_for(loss, threshold.value_or(0.5)));
  return {std::make_shared<ops::ClassCounts>(threshold || is_single ? above : by_largest), true,
          [how = average](Sums sums, std::int64_t) { return f1_score(sums, how); }};
}

config::Section<F1Score> F1Score::section() {
  return config::Section<F1Score>("F1 score: the harmonic mean of precision and recall.")
      .key("average", &F1Score::average,
           "How classes become one figure: their mean, all counts together, or the mean weighted by the labels.")
      .key("threshold", &F1Score::threshold,
           "A probability above it predicts its class; null: the largest does, and of a single output one above 0.5.",
           config::between(0, 1));
}

MetricNode MeanIou::node(const Loss&, const Shape& output) const {
  if (output.back() == 1) {
    throw Error("mean_iou takes the class with the largest output; expected an output of 2 or more classes, found 1");
  }
  if (num_classes && *num_classes != output.back()) {
    throw Error(fmt::format("expected `num_classes` as the output has, {}, found {}", output.back(), *num_classes));
  }
  return {std::make_shared<ops::ClassCounts>(ops::Predicted::kFirst), false, mean_iou};
}

config::Section<MeanIou> MeanIou::section() {
  return config::Section<MeanIou>("Mean intersection over union of the classes.")
      .key("num_classes", &MeanIou::num_classes, "The number of classes; null: the output's.", config::at_least(2));
}

}  // namespace mirrortrain::metrics
