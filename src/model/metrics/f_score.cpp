#include "model/metrics/f_score.h"

#include <memory>

#include "graph/ops/counts.h"
#include "model/metrics/confusion.h"

namespace mirrortrain::metrics {
namespace {

/// The sums of ops::ClassCounts for a class.
struct Counted {
  double right = 0, predicted = 0, labels = 0;
};

/// (1 + beta^2) precision recall / (beta^2 precision + recall).
double score_of(const Counted& one, double beta_squared) {
  return ratio((1 + beta_squared) * one.right, one.predicted + beta_squared * one.labels);
}

double average_score(std::span<const double> sums, Average average, double beta_squared) {
  Counted all;
  double mean = 0, weighted = 0;
  const std::size_t classes = sums.size() / 3;
  for (std::size_t k = 0; k < classes; ++k) {
    const Counted one{sums[3 * k], sums[3 * k + 1], sums[3 * k + 2]};
    all = {all.right + one.right, all.predicted + one.predicted, all.labels + one.labels};
    mean += score_of(one, beta_squared) / static_cast<double>(classes);
    weighted += score_of(one, beta_squared) * one.labels;
  }
  switch (average) {
    case Average::kMicro: return score_of(all, beta_squared);
    case Average::kWeighted: return ratio(weighted, all.labels);
    case Average::kMacro: break;
  }
  return mean;
}

}  // namespace

MetricNode FScore::of_beta(double beta, const Loss& loss, const Shape& output) const {
  const bool is_single = output.back() == 1;
  const ops::ClassCounts by_largest(ops::Predicted::kLargest);
  const ops::ClassCounts above(ops::Predicted::kAbove, threshold_for(loss, threshold));
  return {std::make_shared<ops::ClassCounts>(threshold || is_single ? above : by_largest), true,
          [how = average, squared = beta * beta](std::span<const double> sums, std::int64_t) {
            return average_score(sums, how, squared);
          }};
}

config::Section<FScore> FScore::section() {
  return config::Section<FScore>("Precision and recall as one figure.")
      .key("average", &FScore::average,
           "How classes become one figure: their mean, all counts together, or the mean weighted by the labels.")
      .key("threshold", &FScore::threshold,
           "A probability above it predicts its class; null: the largest does, and of a single output one above 0.5.",
           config::between(0, 1));
}

config::Section<F1Score> F1Score::section() {
  return config::Section<F1Score>("F1 score: the harmonic mean of precision and recall.").include<FScore>();
}

config::Section<FBetaScore> FBetaScore::section() {
  return config::Section<FBetaScore>("F-beta score: the harmonic mean of precision and recall, weighted.")
      .include<FScore>()
      .key("beta", &FBetaScore::beta, "How many times as important recall is as precision.", config::greater_than(0));
}

}  // namespace mirrortrain::metrics
