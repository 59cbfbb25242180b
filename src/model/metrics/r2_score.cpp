#include "model/metrics/r2_score.h"

#include <memory>

#include "graph/ops/counts.h"
#include "model/metrics/labels.h"

namespace mirrortrain::metrics {
namespace {

/// From the sums of ops::SquareSums.
double score_of(std::span<const double> sums, Aggregation aggregation, std::int64_t regressors) {
  double total = 0, weights = 0, numbers = 0;
  for (std::size_t i = 0; i < sums.size(); i += 4) {
    const double variation = sums[i + 1] - sums[i] * ratio(sums[i], sums[i + 3]);
    const bool varies = variation > 1e-12 * sums[i + 1];  // more than the rounding error of equal labels
    const double weight = aggregation == Aggregation::kUniformAverage ? 1 : varies ? variation : 0;
    total += varies ? weight * (1 - sums[i + 2] / variation) : 0;
    weights += weight;
    numbers += sums[i + 3];
  }
  const double score = ratio(total, weights), rest = numbers - static_cast<double>(regressors) - 1;
  // Adjusted by the number of independent variables; n counts numbers, as in Keras.
  return regressors == 0 || rest <= 0 ? score : 1 - (1 - score) * (numbers - 1) / rest;
}

}  // namespace

MetricNode R2Score::node(const Loss& loss, const Shape&) const {
  require_numbers(kName, loss, "use accuracy");
  const auto value = [how = class_aggregation, count = num_regressors](std::span<const double> sums, std::int64_t) {
    return score_of(sums, how, count);
  };
  return {std::make_shared<ops::SquareSums>(), false, value};
}

config::Section<R2Score> R2Score::section() {
  return config::Section<R2Score>("Coefficient of determination: 1 - squared errors / variance of the labels.")
      .key("class_aggregation", &R2Score::class_aggregation,
           "How the scores of several outputs become one: their mean, or that weighted by their labels' variance.")
      .key("num_regressors", &R2Score::num_regressors,
           "Number of independent variables for the adjusted score; 0: it is not adjusted.", config::at_least(0));
}

}  // namespace mirrortrain::metrics
