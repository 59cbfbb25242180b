#include "report/histogram.h"

#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <numeric>

using namespace mirrortrain::report;

namespace {

Histogram of_numbers(std::span<const float> numbers, std::int64_t buckets) {
  const std::span<const float> parts[] = {numbers};
  return histogram_of(parts, buckets);
}

std::vector<std::int64_t> counts_of(const Histogram& histogram) {
  std::vector<std::int64_t> counts;
  for (const Histogram::Bucket& bucket : histogram.buckets) counts.push_back(bucket.count);
  return counts;
}

}  // namespace

TEST_CASE("buckets are of equal width, and the last one has its right edge") {
  // numpy.histogram([0, 0.5, 1, 1.5, 2, 4], bins=4)
  const Histogram histogram = of_numbers(std::array{0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 4.0f}, 4);
  CHECK(counts_of(histogram) == std::vector<std::int64_t>{2, 2, 1, 1});
  CHECK(histogram.buckets[0].left == 0);
  CHECK(histogram.buckets[1].left == 1);
  CHECK(histogram.buckets[1].right == histogram.buckets[2].left);
  CHECK(histogram.buckets[3].right == 4);
}

TEST_CASE("the parts of a histogram are one set of numbers") {
  const std::array first = {0.0f, 3.0f}, second = {1.0f, 2.0f};
  const std::span<const float> parts[] = {first, second};
  CHECK(counts_of(histogram_of(parts, 3)) == std::vector<std::int64_t>{1, 1, 2});
}

TEST_CASE("equal numbers are in the last of buckets without width, as tf.summary has it") {
  const Histogram histogram = of_numbers(std::array{0.25f, 0.25f}, 3);
  CHECK(counts_of(histogram) == std::vector<std::int64_t>{0, 0, 2});
  for (const Histogram::Bucket& bucket : histogram.buckets) {
    CHECK(bucket.left == 0.25);
    CHECK(bucket.right == 0.25);
  }
}

TEST_CASE("numbers that are not finite count nowhere") {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();
  CHECK(counts_of(of_numbers(std::array{kNaN, 0.0f, kInfinity, 1.0f, -kInfinity}, 2)) ==
        std::vector<std::int64_t>{1, 1});
  CHECK(counts_of(of_numbers(std::array{kNaN}, 2)) == std::vector<std::int64_t>{0, 0});
  CHECK(histogram_of({}).buckets.size() == kHistogramBuckets);
}

TEST_CASE("every number is counted, whatever rounding does at the edges") {
  std::vector<float> numbers(1001);
  std::iota(numbers.begin(), numbers.end(), -500.0f);
  for (float& number : numbers) number *= 0.1f;
  const std::vector<std::int64_t> counts = counts_of(of_numbers(numbers, 30));
  CHECK(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}) == 1001);
}
