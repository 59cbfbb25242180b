#include "model/metrics/mean_absolute_error.h"

#include "model/metrics/distance.h"

namespace mirrortrain::metrics {

ops::Metric MeanAbsoluteError::op(const Loss& loss, const Shape&) const {
  check_distance(kName, loss);
  return ops::Metric(ops::MetricKind::kMeanAbsoluteError);
}

}  // namespace mirrortrain::metrics
