#include "report/page/curve.h"

#include <algorithm>
#include <cmath>

namespace mirrortrain::report {

void Curve::Bucket::take(const Bucket& next) {
  if (next.lowest && (!lowest || next.lowest->point.y < lowest->point.y)) lowest = next.lowest;
  if (next.highest && (!highest || next.highest->point.y > highest->point.y)) highest = next.highest;
  if (!not_finite) not_finite = next.not_finite;
}

void Curve::add(double x, double y) {
  const Numbered added{added_, {x, y}};
  const Bucket alone = std::isfinite(y) ? Bucket{added, added, std::nullopt} : Bucket{{}, {}, added};
  if (added_ % bucket_points_ == 0) {
    if (buckets_.size() == kMostBuckets) halve();
    // After halving the last bucket is full: the number of buckets is even.
    buckets_.push_back(alone);
  } else {
    buckets_.back().take(alone);
  }
  if (!first_) first_ = added;
  last_ = added;
  ++added_;
}

void Curve::halve() {
  for (std::size_t i = 0; i < buckets_.size(); i += 2) {
    buckets_[i].take(buckets_[i + 1]);
    buckets_[i / 2] = buckets_[i];
  }
  buckets_.resize(buckets_.size() / 2);
  bucket_points_ *= 2;
}

std::vector<Curve::Point> Curve::points() const {
  std::vector<Numbered> kept;
  const auto keep = [&kept](const std::optional<Numbered>& one) {
    if (one) kept.push_back(*one);
  };
  keep(first_);
  for (const Bucket& bucket : buckets_) {
    keep(bucket.lowest);
    keep(bucket.highest);
    keep(bucket.not_finite);
  }
  keep(last_);
  std::ranges::sort(kept, {}, &Numbered::number);
  const auto repeated = std::ranges::unique(kept, {}, &Numbered::number);
  kept.erase(repeated.begin(), repeated.end());
  std::vector<Point> points;
  for (const Numbered& one : kept) points.push_back(one.point);
  return points;
}

}  // namespace mirrortrain::report
