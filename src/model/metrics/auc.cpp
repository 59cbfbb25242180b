#include "model/metrics/auc.h"

#include "base/error.h"
#include "graph/ops/counts.h"

namespace mirrortrain::metrics {
namespace {

/// The two at the ends are below and above every probability.
ops::Thresholds thresholds_between(std::int64_t count) {
  constexpr float kBeyond = 1e-7f;
  return {-kBeyond, 1 + kBeyond, static_cast<std::int32_t>(count)};
}

/// Goes through the thresholds from above: what is in the bins passed so far is predicted to be true. Outputs below
/// all thresholds, which probabilities never are, count at the lowest, as in Keras.
double area(std::span<const double> sums, std::int64_t) {
  const std::size_t bins = sums.size() / 2;
  double negatives = 0, positives = 0;
  for (std::size_t i = 0; i < bins; ++i) {
    negatives += sums[i];
    positives += sums[bins + i];
  }
  double false_ones = 0, true_ones = 0, last_x = 0, last_y = 0, total = 0;
  for (std::size_t i = bins; i-- > 1;) {
    false_ones += sums[i] + (i == 1 ? sums[0] : 0);
    true_ones += sums[bins + i] + (i == 1 ? sums[bins] : 0);
    const double x = ratio(false_ones, negatives), y = ratio(true_ones, positives);
    total += (x - last_x) * (y + last_y) / 2;
    last_x = x;
    last_y = y;
  }
  return total;
}

}  // namespace

MetricNode Auc::node(const Loss& loss, const Shape&) const {
  if (loss_op(loss).kind == ops::LossKind::kHinge) {
    throw Error("auc needs probabilities, and hinge's outputs are none; use a crossentropy, or accuracy");
  }
  return {std::make_shared<ops::BinCounts>(thresholds_between(num_thresholds)), true, area};
}

config::Section<Auc> Auc::section() {
  return config::Section<Auc>("Area under the ROC curve, over all outputs together.")
      .key("num_thresholds", &Auc::num_thresholds, "Thresholds between which the curve is straight.",
           config::between(2, static_cast<double>(ops::BinCounts::kMostThresholds)));
}

}  // namespace mirrortrain::metrics
