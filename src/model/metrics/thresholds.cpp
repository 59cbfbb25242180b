#include "model/metrics/thresholds.h"

#include <algorithm>
#include <memory>

#include "graph/ops/counts.h"
#include "model/metrics/confusion.h"
#include "model/metrics/labels.h"

namespace mirrortrain::metrics {
namespace {

/// A share of what a threshold predicts, of all.
using ShareOf = double (*)(const Above& above, const Above& all);

double recall_of(const Above& above, const Above& all) { return ratio(above.positives, all.positives); }
double precision_of(const Above& above, const Above&) { return ratio(above.positives, above.all()); }
double specificity_of(const Above& above, const Above& all) {
  return ratio(all.negatives - above.negatives, all.negatives);
}

/// At each threshold what is above it, and all there is: elements that are above no threshold, too.
MetricNode best_where(const AtBound& options, std::string_view name, const Loss& loss, const Shape& output,
                      ShareOf bounded, double bound, ShareOf best) {
  require_probabilities(name, loss);
  const auto count = static_cast<std::int32_t>(options.num_thresholds);
  ops::BinCounts counts(count == 1 ? ops::Thresholds{0.5f, 0.5f, 1} : ops::Thresholds{0, 1, count});
  counts.binning.only_class = class_for(options.class_id, output);
  const auto value = [=](std::span<const double> sums, std::int64_t) {
    const std::size_t bins = sums.size() / 2;
    Above all, above;
    for (std::size_t i = 0; i < bins; ++i) all = {all.negatives + sums[i], all.positives + sums[bins + i]};
    double most = 0;
    for (std::size_t i = bins; i-- > 1;) {
      above = {above.negatives + sums[i], above.positives + sums[bins + i]};
      if (bounded(above, all) >= bound) most = std::max(most, best(above, all));
    }
    return most;
  };
  return {std::make_shared<ops::BinCounts>(counts), true, value};
}

const auto kShare = config::between(0, 1);

}  // namespace

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

config::Section<AtBound> AtBound::section() {
  return config::Section<AtBound>("The thresholds that are tried.")
      .key("num_thresholds", &AtBound::num_thresholds, "The number of thresholds, evenly spaced from 0 to 1.",
           config::between(1, static_cast<double>(ops::BinCounts::kMostThresholds)))
      .key("class_id", &AtBound::class_id, "The only class that counts; null: all outputs together.",
           config::at_least(0));
}

MetricNode PrecisionAtRecall::node(const Loss& loss, const Shape& output) const {
  return best_where(*this, kName, loss, output, recall_of, recall, precision_of);
}

config::Section<PrecisionAtRecall> PrecisionAtRecall::section() {
  return config::Section<PrecisionAtRecall>("The best precision of the thresholds whose recall is at least `recall`.")
      .key("recall", &PrecisionAtRecall::recall, "The least recall.", config::required, kShare)
      .include<AtBound>();
}

MetricNode RecallAtPrecision::node(const Loss& loss, const Shape& output) const {
  return best_where(*this, kName, loss, output, precision_of, precision, recall_of);
}

config::Section<RecallAtPrecision> RecallAtPrecision::section() {
  return config::Section<RecallAtPrecision>(
             "The best recall of the thresholds whose precision is at least `precision`.")
      .key("precision", &RecallAtPrecision::precision, "The least precision.", config::required, kShare)
      .include<AtBound>();
}

MetricNode SensitivityAtSpecificity::node(const Loss& loss, const Shape& output) const {
  return best_where(*this, kName, loss, output, specificity_of, specificity, recall_of);
}

config::Section<SensitivityAtSpecificity> SensitivityAtSpecificity::section() {
  return config::Section<SensitivityAtSpecificity>(
             "The best sensitivity, which is recall, of the thresholds whose specificity, the share of the false "
             "labels that are predicted false, is at least `specificity`.")
      .key("specificity", &SensitivityAtSpecificity::specificity, "The least specificity.", config::required, kShare)
      .include<AtBound>();
}

MetricNode SpecificityAtSensitivity::node(const Loss& loss, const Shape& output) const {
  return best_where(*this, kName, loss, output, recall_of, sensitivity, specificity_of);
}

config::Section<SpecificityAtSensitivity> SpecificityAtSensitivity::section() {
  return config::Section<SpecificityAtSensitivity>(
             "The best specificity of the thresholds whose sensitivity, which is recall, is at least `sensitivity`.")
      .key("sensitivity", &SpecificityAtSensitivity::sensitivity, "The least sensitivity.", config::required, kShare)
      .include<AtBound>();
}

}  // namespace mirrortrain::metrics
