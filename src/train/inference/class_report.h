#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "strategy/reduction/workers.h"
#include "train/inference/prediction.h"
#include "train/inference/threshold_counts.h"

namespace mirrortrain {

/// Why there is no ClassReport for a model that predicts classes: "there are 2100 classes, more than 2000"; empty if
/// there is one.
std::string why_not_counted(const OutputMeaning& meaning);

/// A confusion matrix: counts of examples by their class and the predicted class. For outputs that predict classes, see
/// OutputMeaning; if they predict one for each time step, each step counts as an example.
class ClassReport {
 public:
  /// `meaning`, which why_not_counted must accept, must outlive it.
  explicit ClassReport(const OutputMeaning& meaning);

  /// Adds an example of class `label`, and the model's prediction for it. A prediction with NaN probabilities counts
  /// for the classes, but not for the calibration. Throws Error for a label that is not a class.
  void add(std::int64_t label, std::span<const float> prediction);

  /// Adds the counts of the run's other workers for other examples. Called by every worker.
  void add_up(const Workers& workers);

  std::int64_t classes() const { return classes_; }
  /// Number of examples of class `label` that were predicted as class `predicted`.
  std::int64_t count(std::int64_t label, std::int64_t predicted) const;

  // 0 if the denominator is 0, as in scikit-learn.
  double precision(std::int64_t of) const;
  double recall(std::int64_t of) const;
  double f1(std::int64_t of) const;

  /// Expected calibration error (Guo et al. 2017): the average over the examples of the distance between mean
  /// confidence and accuracy, in 15 equal bins of [0, 1] by the largest probability.
  double expected_calibration_error() const;

  /// {"classes": [{"class", "name", "precision", "recall", "f1", "examples"}, ...], "confusion_matrix": rows of labels,
  /// "expected_calibration_error"}; for more than kMostDenseClasses, instead of the matrix, "confusions": [[label,
  /// predicted, examples], ...], for nonzero counts. Also "calibration": [{"from", "to", "examples", "confidence",
  /// "accuracy"}, ...], the bins with examples, and of two classes what ThresholdCounts gives.
  nlohmann::ordered_json to_json() const;

  static constexpr std::int64_t kMostDenseClasses = 100;
  /// With more, the counts for all pairs do not fit into memory and are unreadable.
  static constexpr std::int64_t kMostCounted = 2000;

 private:
  nlohmann::ordered_json calibration_json() const;
  void add_row(std::int64_t label, nlohmann::ordered_json& matrix) const;

  static constexpr std::size_t kBins = 15;
  struct Bin {
    std::int64_t examples = 0, right = 0;
    double probabilities = 0;
  };
  std::int64_t labels_of(std::int64_t label) const;
  std::int64_t predictions_of(std::int64_t predicted) const;

  const OutputMeaning& meaning_;
  std::int64_t classes_;
  std::vector<std::int64_t> counts_;  ///< [label][predicted]
  std::vector<Bin> bins_;
  ThresholdCounts thresholds_;  ///< of two classes
};

}  // namespace mirrortrain
