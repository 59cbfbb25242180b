#include "model/metrics/mean_squared_error.h"

#include "model/metrics/distance.h"

namespace mirrortrain::metrics {

ops::Metric MeanSquaredError::op(const Loss& loss, const Shape&) const {
  check_distance(kName, loss);
  return ops::Metric(ops::MetricKind::kMeanSquaredError);
}

}  // namespace mirrortrain::metrics
