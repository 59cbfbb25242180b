#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace mirrortrain {

/// Mean and standard deviation of numbers as they come. What is added is how far they are from the first: squares of
/// the numbers themselves would lose the digits in which time stamps differ.
class Spread {
 public:
  void add(double value) {
    if (count_ == 0) first_ = value;
    const double apart = value - first_;
    sum_ += apart;
    squares_ += apart * apart;
    ++count_;
  }

  std::int64_t count() const { return count_; }
  double mean() const { return first_ + mean_apart(); }
  double deviation() const {
    return std::sqrt(std::max(0.0, squares_ / static_cast<double>(count_) - mean_apart() * mean_apart()));
  }
  double root_mean_square() const { return std::hypot(mean(), deviation()); }

 private:
  double mean_apart() const { return sum_ / static_cast<double>(count_); }

  double first_ = 0, sum_ = 0, squares_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace mirrortrain
