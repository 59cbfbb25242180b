#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/spread.h"
#include "data/dataset.h"

namespace mirrortrain {

/// What an output's labels are like.
struct LabelNumbers {
  double least = std::numeric_limits<double>::infinity(), most = -least;
  Spread spread;
  std::int64_t zeros = 0;
  /// Of numbers side by side on the last axis.
  std::int64_t groups = 0, groups_apart_from_one = 0;
  double first_sum_apart = 0;

  std::int64_t count() const { return spread.count(); }
  double mean() const { return spread.mean(); }
  double deviation() const { return spread.deviation(); }
  void add(double label) {
    least = std::min(least, label);
    most = std::max(most, label);
    spread.add(label);
    zeros += label == 0 ? 1 : 0;
  }
  void add_group(double total) {
    constexpr double kRounding = 0.02;  // of probabilities with two digits
    ++groups;
    if (std::abs(total - 1) <= kRounding) return;
    if (groups_apart_from_one++ == 0) first_sum_apart = total;
  }
};

/// Of the examples of a data set that have a label, without those behind the first millions of numbers.
LabelNumbers label_numbers(const data::Dataset& examples, std::size_t output);

/// Whether labels are pictures of bytes, which models mostly give back as numbers from 0 to 1.
bool are_bytes(const data::Array& labels, const LabelNumbers& numbers);

/// The loss that a message advises for those.
inline constexpr const char* kByteLoss = "{type: formula, formula: \"mean(square(y_true / 255 - y_pred))\"}";

}  // namespace mirrortrain
