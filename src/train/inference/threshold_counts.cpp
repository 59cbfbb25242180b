#include "train/inference/threshold_counts.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

namespace mirrortrain {

void ThresholdCounts::add(bool is_positive, double probability) {
  if (std::isnan(probability)) return;
  const double place = std::clamp(probability, 0.0, 1.0) * static_cast<double>(kParts);
  ++(is_positive ? positives_ : negatives_)[std::min(static_cast<std::size_t>(place), kParts - 1)];
}

void ThresholdCounts::add_up(const Workers& workers) {
  negatives_ = workers.sum(negatives_);
  positives_ = workers.sum(positives_);
}

nlohmann::ordered_json ThresholdCounts::to_json() const {
  using Json = nlohmann::ordered_json;
  const double negatives = std::accumulate(negatives_.begin(), negatives_.end(), 0.0);
  const double positives = std::accumulate(positives_.begin(), positives_.end(), 0.0);
  if (negatives == 0 || positives == 0) return Json::object();
  Json thresholds = Json::array();
  double false_positives = 0, true_positives = 0, area = 0, average_precision = 0;
  for (std::size_t part = kParts; part-- > 0;) {
    if (negatives_[part] == 0 && positives_[part] == 0) continue;
    area += negatives_[part] * (true_positives + positives_[part] / 2);
    false_positives += negatives_[part];
    true_positives += positives_[part];
    const double precision = true_positives / (true_positives + false_positives);
    average_precision += positives_[part] / positives * precision;
    thresholds.push_back({{"threshold", static_cast<double>(part) / static_cast<double>(kParts)},
                          {"recall", true_positives / positives},
                          {"false_positive_rate", false_positives / negatives},
                          {"precision", precision}});
  }
  return {{"roc_auc", area / (negatives * positives)},
          {"average_precision", average_precision},
          {"thresholds", std::move(thresholds)}};
}

}  // namespace mirrortrain
