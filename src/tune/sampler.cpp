#include "tune/sampler.h"

#include <cmath>
#include <utility>
#include <vector>

#include "tune/tpe.h"
#include "tune/trial_random.h"

namespace mirrortrain::tune {
namespace {

constexpr std::size_t kMostCombinations = 1'000'000;

/// Adds all combinations of the parameters from `next` on to `points`, the last parameter's values changing fastest.
/// Returns false once there are too many.
bool add_combinations(const SearchSpace& space, std::size_t next, Point& point, std::vector<Point>& points) {
  if (next == point.size()) {
    points.push_back(point);
    return points.size() <= kMostCombinations;
  }
  if (!space.is_active(next, point)) return add_combinations(space, next + 1, point, points);
  const Parameter& parameter = space.parameters()[next];
  for (std::size_t i = 0; i < parameter.count(); ++i) {
    point[next] = parameter.nth(i);
    if (!add_combinations(space, next + 1, point, points)) return false;
  }
  point[next].reset();
  return true;
}

/// nullopt as count_combinations.
std::optional<std::vector<Point>> all_combinations(const SearchSpace& space) {
  for (const Parameter& parameter : space.parameters()) {
    if (parameter.count() == 0) return std::nullopt;
  }
  std::vector<Point> points;
  Point point(space.parameters().size());
  return add_combinations(space, 0, point, points) ? std::optional(std::move(points)) : std::nullopt;
}

class GridSampler : public Sampler {
 public:
  explicit GridSampler(const SearchSpace& space) : points_(all_combinations(space).value()) {}
  Point suggest(int trial, std::span<const Observation>) const override {
    return points_.at(static_cast<std::size_t>(trial));
  }

 private:
  std::vector<Point> points_;
};

class RandomSampler : public Sampler {
 public:
  RandomSampler(const SearchSpace& space, std::uint64_t seed) : space_(space), seed_(seed) {}
  Point suggest(int trial, std::span<const Observation>) const override {
    return random_point(space_, TrialRandom(seed_, trial));
  }

 private:
  const SearchSpace& space_;
  std::uint64_t seed_;
};

double random_value(const Parameter& parameter, double uniform) {
  if (parameter.kind == Parameter::Kind::kChoice) return std::floor(uniform * static_cast<double>(parameter.count()));
  const double low = parameter.low - parameter.step / 2, high = parameter.high + parameter.step / 2;
  if (!parameter.is_log) return nearest_value(parameter, low + uniform * (high - low));
  return nearest_value(parameter, std::exp(std::log(low) + uniform * (std::log(high) - std::log(low))));
}

}  // namespace

Point random_point(const SearchSpace& space, const TrialRandom& random) {
  Point point(space.parameters().size());
  for (std::size_t i = 0; i < point.size(); ++i) {
    const Parameter& parameter = space.parameters()[i];
    if (space.is_active(i, point)) point[i] = random_value(parameter, random.uniform(parameter.key));
  }
  return point;
}

std::optional<std::size_t> count_combinations(const SearchSpace& space) {
  const auto points = all_combinations(space);
  return points ? std::optional(points->size()) : std::nullopt;
}

std::unique_ptr<Sampler> make_sampler(SearchSampler kind, const SearchSpace& space, std::uint64_t seed) {
  switch (kind) {
    case SearchSampler::kGrid: return std::make_unique<GridSampler>(space);
    case SearchSampler::kRandom: return std::make_unique<RandomSampler>(space, seed);
    case SearchSampler::kTpe: break;
  }
  return std::make_unique<TpeSampler>(space, seed);
}

}  // namespace mirrortrain::tune
