#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace mirrortrain::report {

/// How many numbers lie in each of some ranges.
struct Histogram {
  struct Bucket {
    double left = 0, right = 0;  ///< the last one includes its right edge
    std::int64_t count = 0;
  };
  std::vector<Bucket> buckets;
};

/// As many as tf.summary.histogram has unless said otherwise.
inline constexpr std::int64_t kHistogramBuckets = 30;

/// Of the finite ones of all numbers in `parts`: `buckets` ranges of equal width from the least to the largest. If all
/// are equal, the edges are that number and the last bucket has all; without any, edges and counts are 0. These are the
/// rules of tf.summary.histogram (tensorboard/plugins/histogram/summary_v2.py).
Histogram histogram_of(std::span<const std::span<const float>> parts, std::int64_t buckets = kHistogramBuckets);

}  // namespace mirrortrain::report
