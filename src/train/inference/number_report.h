#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "report/page/figures.h"

namespace mirrortrain {

/// How near the predictions of numbers are to their labels; memory does not grow with the number of examples.
class NumberReport {
 public:
  static constexpr std::size_t kMostShown = 1000;

  /// Adds the numbers of an example and the model's for them. Numbers that are not finite are left out. Throws Error
  /// where there is not one label for each.
  void add(std::span<const double> labels, std::span<const float> predictions);

  report::NumberFigures figures() const;

 private:
  void add(double label, double prediction);

  std::int64_t count_ = 0;
  double errors_ = 0, absolute_ = 0, squares_ = 0;  ///< sums
  double label_mean_ = 0, label_squares_ = 0;       ///< of labels: the mean, and the sum of squares around it
  std::vector<std::pair<double, double>> shown_;    ///< every `stride_`-th
  std::int64_t stride_ = 1;
};

}  // namespace mirrortrain
