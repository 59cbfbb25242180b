#include "model/metrics/mean_errors.h"

#include <fmt/format.h>

#include "base/error.h"
#include "graph/ops/counts.h"
#include "model/metrics/r2_score.h"

namespace mirrortrain::metrics {
namespace {

/// Throws Error if the loss's labels are class numbers, which have no distance from an output.
void check_distance(std::string_view metric, const Loss& loss) {
  if (targets_of(loss) != Targets::kClassNumbers) return;
  throw Error(fmt::format(
      "{} needs labels of the same shape as the output, but the loss takes class numbers; use accuracy", metric));
}

}  // namespace

MetricNode MeanSquaredError::node(const Loss& loss, const Shape&) const {
  check_distance(kName, loss);
  return mean_node(ops::Metric(ops::MetricKind::kMeanSquaredError));
}

MetricNode MeanAbsoluteError::node(const Loss& loss, const Shape&) const {
  check_distance(kName, loss);
  return mean_node(ops::Metric(ops::MetricKind::kMeanAbsoluteError));
}

MetricNode R2Score::node(const Loss& loss, const Shape&) const {
  check_distance(kName, loss);
  const auto value = [](std::span<const double> sums, std::int64_t) {
    const double outputs = static_cast<double>(sums.size()) / 4;
    double mean = 0;
    for (std::size_t i = 0; i < sums.size(); i += 4) {
      const double variation = sums[i + 1] - sums[i] * ratio(sums[i], sums[i + 3]);
      const bool varies = variation > 1e-12 * sums[i + 1];  // more than the rounding error of equal labels
      mean += varies ? (1 - sums[i + 2] / variation) / outputs : 0;
    }
    return mean;
  };
  return {std::make_shared<ops::SquareSums>(), false, value};
}

config::Section<MeanSquaredError> MeanSquaredError::section() {
  return config::Section<MeanSquaredError>("Mean squared error: the mean of (output - label)^2.");
}

config::Section<MeanAbsoluteError> MeanAbsoluteError::section() {
  return config::Section<MeanAbsoluteError>("Mean absolute error: the mean of |output - label|.");
}

config::Section<R2Score> R2Score::section() {
  return config::Section<R2Score>("Coefficient of determination: 1 - squared errors / variance of the labels.");
}

}  // namespace mirrortrain::metrics
