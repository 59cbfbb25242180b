#pragma once

#include <cstdint>
#include <vector>

namespace mirrortrain {

/// What a step or several gave, as sums over examples, so that they add up exactly like the examples do.
struct Sums {
  double loss = 0;              ///< regularization included, times the examples it counts for
  std::vector<double> metrics;  ///< in the order of Model::metric_names
  std::int64_t examples = 0;

  Sums() = default;
  explicit Sums(std::size_t metric_count) : metrics(metric_count, 0.0) {}

  Sums& operator+=(const Sums& other) {
    loss += other.loss;
    for (std::size_t i = 0; i < metrics.size(); ++i) metrics[i] += other.metrics[i];
    examples += other.examples;
    return *this;
  }
  void clear() {
    loss = 0;
    metrics.assign(metrics.size(), 0.0);
    examples = 0;
  }
};

}  // namespace mirrortrain
