#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "strategy/reduction/workers.h"
#include "train/inference/prediction.h"

namespace mirrortrain {

/// Why a model that predicts classes has no ClassReport: "there are 2100 classes, more than 2000"; empty where it has
/// one.
std::string why_not_counted(const OutputMeaning& meaning);

/// How well each class is distinguished from the others: counts of an example's class against the one predicted. Of
/// outputs that predict classes, see OutputMeaning; where they predict one for each step, what counts as an example
/// here is a step.
class ClassReport {
 public:
  /// `meaning`, of which why_not_counted says nothing, must outlive it.
  explicit ClassReport(const OutputMeaning& meaning);

  /// An example of class `label`, and the model's prediction for it. One whose probabilities are NaN counts for the
  /// classes, not for the calibration. Throws Error for a label that is no class.
  void add(std::int64_t label, std::span<const float> prediction);

  /// Adds what the run's other workers have counted of other examples. Every worker calls it.
  void add_up(const Workers& workers);

  std::int64_t classes() const { return classes_; }
  /// Examples of class `label` that were taken for class `predicted`.
  std::int64_t count(std::int64_t label, std::int64_t predicted) const;

  // 0 where there is nothing to divide by, as in scikit-learn.
  double precision(std::int64_t of) const;
  double recall(std::int64_t of) const;
  double f1(std::int64_t of) const;

  /// How far probabilities are from what comes true, on average over the examples: of those whose largest probability
  /// lies in one of 15 equal parts of [0, 1], the distance between its mean and the share that was right (expected
  /// calibration error, Guo et al. 2017).
  double expected_calibration_error() const;

  /// {"classes": [{"class", "name", "precision", "recall", "f1", "examples"}, ...], "confusion_matrix": rows of labels,
  /// "expected_calibration_error"}; of more than kMostDenseClasses, in place of the matrix, "confusions": [[label,
  /// predicted, examples], ...], where there are examples.
  nlohmann::ordered_json to_json() const;

  static constexpr std::int64_t kMostDenseClasses = 100;
  /// There may be so many that a count for every pair does not fit into memory, nor can be read.
  static constexpr std::int64_t kMostCounted = 2000;

 private:
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
};

}  // namespace mirrortrain
