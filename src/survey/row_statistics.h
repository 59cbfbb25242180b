#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "data/dataset.h"

namespace mirrortrain::survey {

/// The moments and the range of some numbers; NaN stands for one that is missing.
class Moments {
 public:
  void add(double number);
  /// Those of other numbers, which come behind.
  void add(const Moments& more);

  std::int64_t count() const { return count_; }
  std::int64_t missing() const { return missing_; }
  double mean() const { return mean_; }
  /// 0 if there are none.
  double deviation() const;
  double least() const { return least_; }
  double largest() const { return largest_; }

 private:
  std::int64_t count_ = 0, missing_ = 0;
  double mean_ = 0, squares_ = 0;
  double least_ = std::numeric_limits<double>::infinity(), largest_ = -std::numeric_limits<double>::infinity();
};

/// What distinguishes an example from others: 96 bits of its features, and its number.
struct ExampleMark {
  std::uint64_t hash = 0;
  std::uint32_t check = 0, row = 0;
};
static_assert(sizeof(ExampleMark) == 16);

/// What is found in the features of all examples.
struct FeatureStatistics {
  std::vector<std::vector<Moments>> inputs;  ///< of each input, for each of its features or channels
  std::vector<ExampleMark> marks;            ///< of each example
};

/// How many moments an input has: one for each feature of a short row, one for each channel of pictures, else one.
std::size_t moments_of(const Shape& row);

/// Reads all features once, by several threads. Throws Error for those that cannot be read.
FeatureStatistics read_features(const data::Dataset& dataset, int threads);

}  // namespace mirrortrain::survey
