#include "model/metrics/accuracy.h"

namespace mirrortrain::metrics {

ops::Metric Accuracy::op(const Loss& loss, const Shape& output) const {
  const ops::Loss loss_options = loss_op(loss);
  switch (loss_options.kind) {
    case ops::LossKind::kBinaryCrossentropy:
      return ops::Metric(ops::MetricKind::kBinaryAccuracy, loss_options.from_logits ? 0.0f : 0.5f);
    case ops::LossKind::kCategoricalCrossentropy: return ops::Metric(ops::MetricKind::kCategoricalAccuracy);
    case ops::LossKind::kSparseCategoricalCrossentropy: return ops::Metric(ops::MetricKind::kSparseCategoricalAccuracy);
    case ops::LossKind::kMeanSquaredError: break;
  }
  return ops::Metric(output.back() == 1 ? ops::MetricKind::kBinaryAccuracy : ops::MetricKind::kCategoricalAccuracy);
}

}  // namespace mirrortrain::metrics
