#include "report/page/curve.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using mirrortrain::report::Curve;

namespace {

/// What was added, by its x.
double height(std::int64_t x) { return std::sin(0.01 * static_cast<double>(x)) + 1.0 / static_cast<double>(x); }

}  // namespace

TEST_CASE("a curve keeps every point as long as they are few") {
  Curve curve;
  for (std::size_t x = 1; x <= Curve::kMostBuckets; ++x) curve.add(static_cast<double>(x), height(static_cast<int>(x)));
  const auto points = curve.points();
  REQUIRE(points.size() == Curve::kMostBuckets);
  for (std::size_t i = 0; i < points.size(); ++i) {
    CHECK(points[i] == Curve::Point{static_cast<double>(i + 1), height(static_cast<int>(i + 1))});
  }
  CHECK(Curve().points().empty());
}

TEST_CASE("of a million points a few thousand are left, the spikes, the first and the last among them") {
  constexpr std::int64_t kPoints = 1'000'003;
  Curve curve;
  for (std::int64_t x = 1; x <= kPoints; ++x) {
    const double y = x == 654'321 ? 100 : x == 123'456 ? -100 : height(x);
    curve.add(static_cast<double>(x), y);
  }
  CHECK(curve.added() == kPoints);
  const auto points = curve.points();
  CHECK(points.size() <= 2 * Curve::kMostBuckets + 2);
  CHECK(points.size() >= Curve::kMostBuckets / 2);
  CHECK(points.front() == Curve::Point{1, height(1)});
  CHECK(points.back() == Curve::Point{kPoints, height(kPoints)});
  int spikes = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto x = static_cast<std::int64_t>(points[i].x);
    if (i > 0) CHECK(points[i].x > points[i - 1].x);
    if (x == 654'321 || x == 123'456) {
      ++spikes;
      CHECK(std::abs(points[i].y) == 100);
    } else {
      CHECK(points[i].y == height(x));
    }
  }
  CHECK(spikes == 2);
}

TEST_CASE("each bucket is drawn from its least to its largest value") {
  Curve curve;
  for (int x = 0; x < 100'000; ++x) curve.add(x, x % 100 == 50 ? 1 : x % 100 == 51 ? -1 : 0);
  double least = 0, largest = 0;
  for (const auto& point : curve.points()) {
    if (point.x == 0 || point.x == 99'999) continue;
    least += point.y < 0 ? 1 : 0;
    largest += point.y > 0 ? 1 : 0;
  }
  // 100,000 points are 782 buckets of 128, which is more than a period: each has both.
  CHECK(least >= 781);
  CHECK(largest >= 781);
}

TEST_CASE("values that are not finite stay visible among many") {
  Curve curve;
  for (int x = 0; x < 10'000; ++x) {
    curve.add(x, x == 5'000   ? std::numeric_limits<double>::quiet_NaN()
                 : x == 7'000 ? std::numeric_limits<double>::infinity()
                              : 1);
  }
  int nan = 0, infinite = 0;
  for (const auto& point : curve.points()) {
    nan += std::isnan(point.y) && point.x == 5'000 ? 1 : 0;
    infinite += std::isinf(point.y) && point.x == 7'000 ? 1 : 0;
  }
  CHECK(nan == 1);
  CHECK(infinite == 1);
  Curve broken;
  for (int x = 0; x < 5'000; ++x) broken.add(x, std::numeric_limits<double>::quiet_NaN());
  CHECK(broken.points().size() <= Curve::kMostBuckets + 2);
}
