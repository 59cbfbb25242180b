#include "model/metrics/mean_errors.h"

#include <fmt/format.h>

#include "base/error.h"

namespace mirrortrain::metrics {
namespace {

/// Throws Error where the loss's labels are class numbers: they have no distance from an output.
void check_distance(std::string_view metric, const Loss& loss) {
  if (targets_of(loss) != Targets::kClassNumbers) return;
  throw Error(fmt::format(
      "{} needs labels of the same shape as the output, but the loss takes class numbers; use accuracy", metric));
}

}  // namespace

ops::Metric MeanSquaredError::op(const Loss& loss, const Shape&) const {
  check_distance(kName, loss);
  return ops::Metric(ops::MetricKind::kMeanSquaredError);
}

ops::Metric MeanAbsoluteError::op(const Loss& loss, const Shape&) const {
  check_distance(kName, loss);
  return ops::Metric(ops::MetricKind::kMeanAbsoluteError);
}

}  // namespace mirrortrain::metrics
