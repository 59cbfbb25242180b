#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace mirrortrain::report {

/// A curve of any number of points, downsampled for drawing: up to kMostBuckets points are all kept. Beyond that, runs
/// of 2, 4, 8, ... consecutive points become buckets, of which the lowest and the highest point are kept, so that no
/// spike is lost; the first point, the last one, and the first non-finite one of each bucket are also kept. Every kept
/// point is one that was added.
class Curve {
 public:
  static constexpr std::size_t kMostBuckets = 1000;

  struct Point {
    double x = 0, y = 0;
    bool operator==(const Point&) const = default;
  };

  /// `x` must not decrease; `y` may be NaN or infinite.
  void add(double x, double y);

  /// In the order in which they were added: at most 3 x kMostBuckets + 2.
  std::vector<Point> points() const;
  std::int64_t added() const { return added_; }
  /// The last point; there must be one.
  const Point& last() const { return last_->point; }

 private:
  struct Numbered {
    std::int64_t number = 0;
    Point point;
  };
  struct Bucket {
    std::optional<Numbered> lowest, highest, not_finite;
    void take(const Bucket& next);
  };
  void halve();

  std::vector<Bucket> buckets_;
  std::int64_t bucket_points_ = 1;  ///< points of a full bucket
  std::int64_t added_ = 0;
  std::optional<Numbered> first_, last_;
};

}  // namespace mirrortrain::report
