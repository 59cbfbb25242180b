#include "model/metrics/auc.h"

#include <cmath>
#include <vector>

#include "base/error.h"
#include "graph/ops/counts.h"

namespace mirrortrain::metrics {
namespace {

/// The first and the last are below and above every probability.
ops::Thresholds thresholds_between(std::int64_t count) {
  constexpr float kBeyond = 1e-7f;
  return {-kBeyond, 1 + kBeyond, static_cast<std::int32_t>(count)};
}

/// The negatives and positives that are predicted true at a threshold.
struct Above {
  double negatives = 0, positives = 0;
  double all() const { return negatives + positives; }
};

/// In descending order from the highest threshold, above which there is nothing. Outputs below all thresholds, which
/// probabilities never are, count at the lowest, as in Keras.
std::vector<Above> above_thresholds(std::span<const double> sums) {
  const std::size_t bins = sums.size() / 2;
  std::vector<Above> above(1);
  for (std::size_t i = bins; i-- > 1;) {
    const Above& last = above.back();
    above.push_back({last.negatives + sums[i] + (i == 1 ? sums[0] : 0),
                     last.positives + sums[bins + i] + (i == 1 ? sums[bins] : 0)});
  }
  return above;
}

double roc_area(std::span<const double> sums, std::int64_t) {
  const std::vector<Above> above = above_thresholds(sums);
  const Above all = above.back();
  double total = 0;
  for (std::size_t i = 1; i < above.size(); ++i) {
    const double x = ratio(above[i].negatives, all.negatives), last_x = ratio(above[i - 1].negatives, all.negatives);
    const double y = ratio(above[i].positives, all.positives), last_y = ratio(above[i - 1].positives, all.positives);
    total += (x - last_x) * (y + last_y) / 2;
  }
  return total;
}

/// Between two thresholds true positives are linear in the predicted positives p, a p + b, so precision is a + b / p,
/// and its integral over recall contains a logarithm.
double pr_area(std::span<const double> sums, std::int64_t) {
  const std::vector<Above> above = above_thresholds(sums);
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

}  // namespace

MetricNode Auc::node(const Loss& loss, const Shape&) const {
  if (loss_op(loss).kind == ops::LossKind::kHinge) {
    throw Error("auc needs probabilities, and hinge's outputs are none; use a crossentropy, or accuracy");
  }
  return {std::make_shared<ops::BinCounts>(thresholds_between(num_thresholds)), true,
          curve == Curve::kPr ? pr_area : roc_area};
}

config::Section<Auc> Auc::section() {
  return config::Section<Auc>("Area under a curve, over all outputs together.")
      .key("curve", &Auc::curve,
           "The curve: `ROC`, true over false positives, or `PR`, precision over recall, which says more where few "
           "labels are true.")
      .key("num_thresholds", &Auc::num_thresholds, "Thresholds between which the curve is straight.",
           config::between(2, static_cast<double>(ops::BinCounts::kMostThresholds)));
}

}  // namespace mirrortrain::metrics
