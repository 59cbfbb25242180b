#include "report/histogram.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mirrortrain::report {

Histogram histogram_of(std::span<const std::span<const float>> parts, std::int64_t buckets) {
  const auto for_each_finite = [&](const auto& take) {
    for (const std::span<const float> part : parts) {
      for (const float number : part) {
        if (std::isfinite(number)) take(static_cast<double>(number));
      }
    }
  };
  double least = std::numeric_limits<double>::infinity(), largest = -least;
  std::int64_t count = 0;
  for_each_finite([&](double number) {
    least = std::min(least, number);
    largest = std::max(largest, number);
    ++count;
  });
  Histogram histogram;
  histogram.buckets.resize(static_cast<std::size_t>(buckets));
  if (count == 0 || buckets == 0) return histogram;
  const double width = (largest - least) / static_cast<double>(buckets);
  if (width == 0) {
    for (Histogram::Bucket& bucket : histogram.buckets) bucket.left = bucket.right = largest;
    histogram.buckets.back().count = count;
    return histogram;
  }
  for (std::int64_t i = 0; i < buckets; ++i) {
    Histogram::Bucket& bucket = histogram.buckets[static_cast<std::size_t>(i)];
    bucket.left = least + static_cast<double>(i) * width;
    bucket.right = i + 1 == buckets ? largest : least + static_cast<double>(i + 1) * width;
  }
  for_each_finite([&](double number) {
    const auto index = static_cast<std::int64_t>(std::floor((number - least) / width));
    ++histogram.buckets[static_cast<std::size_t>(std::min(index, buckets - 1))].count;
  });
  return histogram;
}

}  // namespace mirrortrain::report
