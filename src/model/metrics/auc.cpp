#include "model/metrics/auc.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>

#include "base/error.h"
#include "graph/ops/counts.h"
#include "graph/ops/elementwise.h"
#include "model/metrics/labels.h"
#include "model/metrics/thresholds.h"

namespace mirrortrain::metrics {
namespace {

using Curves = std::vector<Above>;

/// The first and the last are below and above every probability.
ops::Thresholds thresholds_of(const Auc& metric) {
  constexpr float kBeyond = 1e-7f;
  if (metric.thresholds.empty()) {
    return {-kBeyond, 1 + kBeyond, static_cast<std::int32_t>(metric.num_thresholds)};
  }
  std::vector<double> sorted = metric.thresholds;
  std::ranges::sort(sorted);
  ops::Thresholds listed{-kBeyond, 1 + kBeyond, static_cast<std::int32_t>(sorted.size() + 2), true};
  listed.listed[0] = listed.first;
  std::ranges::transform(sorted, listed.listed + 1, [](double one) { return static_cast<float>(one); });
  listed.listed[listed.count - 1] = listed.last;
  return listed;
}

struct Point {
  double x = 0, y = 0;
};

/// Precision and recall gain (Flach and Kull, 2015), with Keras's values where they are not defined.
Point gains(const Above& above, const Above& all) {
  if (above.positives == 0) return {0, 1};
  const double scale = ratio(all.positives, all.negatives), missed = all.positives - above.positives;
  return {std::max(0.0, 1 - scale * missed / above.positives), 1 - scale * above.negatives / above.positives};
}

Point point_of(Curve curve, const Above& above, const Above& all) {
  const double recall = ratio(above.positives, all.positives);
  if (curve == Curve::kPrGain) return gains(above, all);
  return curve == Curve::kRoc ? Point{ratio(above.negatives, all.negatives), recall}
                              : Point{recall, ratio(above.positives, above.all())};
}

double height(Summation how, double one, double other) {
  switch (how) {
    case Summation::kMinoring: return std::min(one, other);
    case Summation::kMajoring: return std::max(one, other);
    case Summation::kInterpolation: break;
  }
  return (one + other) / 2;
}

double area(Curve curve, Summation how, const Curves& above) {
  double total = 0;
  for (std::size_t i = 1; i < above.size(); ++i) {
    const Point low = point_of(curve, above[i], above.back()), high = point_of(curve, above[i - 1], above.back());
    total += (low.x - high.x) * height(how, low.y, high.y);
  }
  return total;
}

/// Between two thresholds true positives are linear in the predicted positives p, a p + b, so precision is a + b / p,
/// and its integral over recall contains a logarithm.
double interpolated_pr_area(const Curves& above) {
  double total = 0;
  for (std::size_t i = 1; i < above.size(); ++i) {
    const Above &low = above[i], &high = above[i - 1];
    const double found = low.positives - high.positives;
    const double slope = ratio(found, low.all() - high.all());
    const double intercept = high.positives - slope * high.all();
    const double logarithm = low.all() > 0 && high.all() > 0 ? std::log(low.all() / high.all()) : 0;
    total += ratio(slope * (found + intercept * logarithm), above.back().positives);
  }
  return total;
}

double area_of(Curve curve, Summation how, const Curves& above) {
  const bool is_special = curve == Curve::kPr && how == Summation::kInterpolation;
  return is_special ? interpolated_pr_area(above) : area(curve, how, above);
}

/// Each label's area, or that of all labels, with the labels' weights.
MetricValue value_of(const Auc& metric, std::size_t labels) {
  std::vector<double> weights = metric.label_weights;
  if (weights.empty()) weights.assign(labels, 1.0);
  const auto area_under = [curve = metric.curve, how = metric.summation_method](const Curves& above) {
    return area_of(curve, how, above);
  };
  if (metric.multi_label) {
    return [=](std::span<const double> sums, std::int64_t) {
      const std::size_t own = sums.size() / labels;
      double total = 0;
      for (std::size_t k = 0; k < labels; ++k)
        total += weights[k] * area_under(above_thresholds(sums.subspan(k * own, own)));
      return ratio(total, std::accumulate(weights.begin(), weights.end(), 0.0));
    };
  }
  return [=](std::span<const double> sums, std::int64_t) {
    const std::size_t own = sums.size() / labels;
    std::vector<double> all(own);
    for (std::size_t i = 0; i < sums.size(); ++i) all[i % own] += weights[i / own] * sums[i];
    return area_under(above_thresholds(all));
  };
}

void check_labels(const Auc& metric, const Shape& output) {
  if (metric.multi_label && output.elements() != output.back()) {
    throw Error(fmt::format("multi_label expects an output of one axis, found {}", output.text()));
  }
  if (metric.num_labels && *metric.num_labels != output.back()) {
    throw Error(
        fmt::format("expected `num_labels` as the output has, {}, found {}", output.back(), *metric.num_labels));
  }
  if (!metric.label_weights.empty() && std::ssize(metric.label_weights) != output.back()) {
    throw Error(fmt::format("expected a weight for each of the output's {} labels in `label_weights`, found {}",
                            output.back(), metric.label_weights.size()));
  }
}

}  // namespace

MetricNode Auc::node(const Loss& loss, const Shape& output) const {
  require_probabilities(kName, loss);
  if (from_logits && takes_logits(loss)) {
    throw Error("the loss says that the output is logits, so that the metric reads probabilities; remove from_logits");
  }
  check_labels(*this, output);
  ops::BinCounts counts(thresholds_of(*this));
  counts.binning.by_class = multi_label || !label_weights.empty();
  const auto labels = static_cast<std::size_t>(counts.binning.by_class ? output.back() : 1);
  return {std::make_shared<ops::BinCounts>(counts), true, value_of(*this, labels)};
}

std::vector<ValueId> Auc::inputs(Graph& graph, ValueId output, ValueId labels) const {
  if (!from_logits) return {output, labels};
  return {graph.apply_one(ops::Activation(ops::ActivationKind::kSigmoid), {output}), labels};
}

config::Section<Auc> Auc::section() {
  return config::Section<Auc>("Area under a curve, over all outputs together.")
      .key("curve", &Auc::curve,
           "The curve: `ROC`, true over false positives, `PR`, precision over recall, which says more where few "
           "labels are true, or `PRGAIN`, the same scaled by how many are true.")
      .key("num_thresholds", &Auc::num_thresholds, "Thresholds between which the curve is straight.",
           config::between(2, static_cast<double>(ops::BinCounts::kMostThresholds)))
      .key("summation_method", &Auc::summation_method,
           "The height between two thresholds: `interpolation`, the lower one (`minoring`) or the higher one "
           "(`majoring`).")
      .key("thresholds", &Auc::thresholds, "Thresholds in place of evenly spaced ones.", config::between(0, 1))
      .key("multi_label", &Auc::multi_label, "Whether each output has an area of its own, whose mean is reported.")
      .key("num_labels", &Auc::num_labels, "The number of outputs, with `multi_label`; null: as many as there are.",
           config::at_least(1))
      .key("label_weights", &Auc::label_weights,
           "A weight for each output, in the mean with `multi_label` and else in the counts.", config::at_least(0))
      .key("from_logits", &Auc::from_logits,
           "Whether a sigmoid is applied to the output. Where the loss says that it is logits, it is already.")
      .check("num_thresholds",
             [](const Auc& metric) -> std::string {
               const bool counts = metric.thresholds.empty() || metric.num_thresholds == Auc().num_thresholds;
               return counts ? "" : "has no effect beside `thresholds`";
             })
      .check("thresholds",
             [](const Auc& metric) -> std::string {
               constexpr std::size_t kMost = ops::Thresholds::kMostListed - 2;
               if (metric.thresholds.size() <= kMost) return "";
               return fmt::format("expected at most {} numbers, found {}; use num_thresholds", kMost,
                                  metric.thresholds.size());
             })
      .check("num_labels", [](const Auc& metric) -> std::string {
        return metric.num_labels && !metric.multi_label ? "has no effect without `multi_label: true`" : "";
      });
}

}  // namespace mirrortrain::metrics
