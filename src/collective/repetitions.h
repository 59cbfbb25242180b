#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "device/device.h"

namespace mirrortrain {

/// When one size has been timed often enough, and how long it took. The clock for all repetitions begins at once.
class Repetitions {
 public:
  /// The first two warm up.
  void add(double seconds);
  bool enough() const;
  /// Once there are enough.
  double median() const;

 private:
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start_ = Clock::now();
  int warm_ups_ = 0;
  std::vector<double> seconds_;
};

/// Operations of one size that a repetition has, with one wait at the end: on a GPU as many as show its speed rather
/// than the host's, so far as their `bytes_each` do not get large.
std::size_t operations_in_a_row(const Device& device, std::size_t bytes_each);

}  // namespace mirrortrain
