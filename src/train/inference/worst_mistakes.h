#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "report/page/page.h"
#include "train/inference/prediction.h"

namespace mirrortrain {

/// The misclassified examples with the highest predicted probability. For outputs that predict one class per example,
/// see OutputMeaning.
class WorstMistakes {
 public:
  static constexpr std::size_t kMost = 24;

  /// `meaning` must outlive it.
  explicit WorstMistakes(const OutputMeaning& meaning) : meaning_(meaning) {}

  /// Adds an example, its class, and the model's output for it; a NaN probability counts as 0.
  void add(std::int64_t row, std::int64_t truth, std::span<const float> output);

  /// The mistakes in order of decreasing probability, with their images, from the data set of these rows. Throws Error
  /// if one cannot be read.
  std::vector<report::Mistake> pictures(const data::Dataset& dataset, std::size_t input) const;

 private:
  struct Wrong {
    double probability;
    std::int64_t row, truth, predicted;
  };
  std::string label_of(std::int64_t number) const;

  const OutputMeaning& meaning_;
  std::vector<Wrong> worst_;  ///< sorted; among equal ones, the first
};

}  // namespace mirrortrain
