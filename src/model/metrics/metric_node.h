#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "graph/ops/metric.h"

namespace mirrortrain {

/// Computes a metric from its op's sums, added up over batches and replicas, and the number of examples.
using MetricValue = std::function<double(std::span<const double> sums, std::int64_t examples)>;

/// How a metric is computed.
struct MetricNode {
  std::shared_ptr<const Op> op;  ///< of the output, the labels and perhaps a mask; returns float64 sums over a batch
  bool reads_probabilities = false;  ///< whether logits are first converted to probabilities
  MetricValue value;
  std::size_t mask_input = 2;  ///< the op's input that is a mask
};

/// a / b, or 0 where b is 0.
inline double ratio(double a, double b) { return b == 0 ? 0 : a / b; }

/// The mean over examples or, with a mask, over the positions that count.
inline double mean_of(std::span<const double> sums, std::int64_t examples) {
  return sums.size() > 1 ? ratio(sums[0], sums[1]) : sums[0] / static_cast<double>(examples);
}

/// For a metric that is a mean.
inline MetricNode mean_node(const ops::Metric& op) { return {std::make_shared<ops::Metric>(op), false, mean_of}; }

/// What a metric compares the labels with.
enum class Compares : std::uint8_t {
  kClasses,   ///< predicted classes
  kNumbers,   ///< numbers, which have a distance from the labels
  kAsItsLoss  ///< what the loss of its name does
};

}  // namespace mirrortrain
