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

/// The examples taken for another class, of which the model was surest. Of outputs that predict a class of each
/// example, see OutputMeaning.
class WorstMistakes {
 public:
  static constexpr std::size_t kMost = 24;

  /// `meaning` must outlive it.
  explicit WorstMistakes(const OutputMeaning& meaning) : meaning_(meaning) {}

  /// An example, its class, and the model's output for it; a probability that is NaN counts as 0.
  void add(std::int64_t row, std::int64_t truth, std::span<const float> output);

  /// The surest first, with their pictures, from the data set that the rows are of. Throws Error where one cannot be
  /// read.
  std::vector<report::Mistake> pictures(const data::Dataset& dataset) const;

 private:
  struct Wrong {
    double probability;
    std::int64_t row, truth, predicted;
  };
  std::string label_of(std::int64_t number) const;

  const OutputMeaning& meaning_;
  std::vector<Wrong> worst_;  ///< sorted; of equal ones the first
};

}  // namespace mirrortrain
