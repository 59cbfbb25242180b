#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "strategy/reduction/workers.h"

namespace mirrortrain {

/// Counts of the examples of two classes by their probability of class 1, in equal parts of [0, 1]: enough for the
/// curves of an evaluation, however many examples there are. Figures are those of scikit-learn with probabilities
/// rounded down to a part.
class ThresholdCounts {
 public:
  static constexpr std::size_t kParts = 512;

  ThresholdCounts() : negatives_(kParts), positives_(kParts) {}

  /// NaN is left out.
  void add(bool is_positive, double probability);
  /// Adds the counts of the run's other workers. Called by every worker.
  void add_up(const Workers& workers);

  /// "thresholds": [{"threshold", "recall", "false_positive_rate", "precision"}, ...], falling, those at which a count
  /// changes; "roc_auc", by the trapezoidal rule; "average_precision". Empty unless both classes have examples.
  nlohmann::ordered_json to_json() const;

 private:
  std::vector<double> negatives_, positives_;  ///< a double represents every count exactly
};

}  // namespace mirrortrain
