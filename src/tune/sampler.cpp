#include "tune/sampler.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "tune/tpe.h"
#include "tune/trial_random.h"

namespace mirrortrain::tune {
namespace {

/// Calls `visit` with every combination of the parameters from `next` on, the last parameter's values changing fastest,
/// until it returns false; then returns false, too.
bool visit_combinations(const SearchSpace& space, std::size_t next, Point& point,
                        const std::function<bool(const Point&)>& visit) {
  if (next == point.size()) return visit(point);
  if (!space.is_active(next, point)) return visit_combinations(space, next + 1, point, visit);
  const Parameter& parameter = space.parameters()[next];
  for (std::size_t i = 0; i < parameter.count(); ++i) {
    point[next] = parameter.nth(i);
    if (!visit_combinations(space, next + 1, point, visit)) return false;
  }
  point[next].reset();
  return true;
}

/// The same for all parameters; false also where one has more values than can be counted.
bool visit_combinations(const SearchSpace& space, const std::function<bool(const Point&)>& visit) {
  if (std::ranges::any_of(space.parameters(), [](const Parameter& parameter) { return parameter.count() == 0; })) {
    return false;
  }
  Point point(space.parameters().size());
  return visit_combinations(space, 0, point, visit);
}

std::vector<Point> all_combinations(const SearchSpace& space) {
  std::vector<Point> points;
  visit_combinations(space, [&](const Point& point) {
    points.push_back(point);
    return true;
  });
  return points;
}

class GridSampler : public Sampler {
 public:
  explicit GridSampler(const SearchSpace& space) : points_(all_combinations(space)) {}
  Point suggest(int trial, std::span<const Observation>) const override {
    return points_.at(static_cast<std::size_t>(trial));
  }

 private:
  std::vector<Point> points_;
};

class RandomSampler : public Sampler {
 public:
  RandomSampler(const SearchSpace& space, std::uint64_t seed) : space_(space), seed_(seed) {}
  Point suggest(int trial, std::span<const Observation> before) const override {
    return new_random_point(space_, TrialRandom(seed_, trial), before);
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

/// `index`: which of the trial's draws.
Point random_point(const SearchSpace& space, const TrialRandom& random, std::uint32_t index) {
  Point point(space.parameters().size());
  for (std::size_t i = 0; i < point.size(); ++i) {
    const Parameter& parameter = space.parameters()[i];
    if (space.is_active(i, point)) point[i] = random_value(parameter, random.uniform(parameter.key, index));
  }
  return point;
}

}  // namespace

bool is_new(const Point& point, std::span<const Observation> before) {
  return std::ranges::find(before, point, &Observation::point) == before.end();
}

Point new_random_point(const SearchSpace& space, const TrialRandom& random, std::span<const Observation> before) {
  constexpr std::uint32_t kMostDraws = 100;
  Point point;
  for (std::uint32_t draw = 0; draw < kMostDraws; ++draw) {
    point = random_point(space, random, draw);
    if (is_new(point, before)) return point;
  }
  // Nearly all are known: the first of the others, if there are any.
  visit_combinations(space, [&](const Point& other) {
    if (!is_new(other, before)) return true;
    point = other;
    return false;
  });
  return point;
}

std::optional<std::size_t> count_combinations(const SearchSpace& space, std::size_t most) {
  std::size_t count = 0;
  const bool are_all = visit_combinations(space, [&](const Point&) { return ++count <= most; });
  return are_all ? std::optional(count) : std::nullopt;
}

std::unique_ptr<Sampler> make_sampler(SearchSampler kind, const SearchSpace& space, std::uint64_t seed) {
  switch (kind) {
    case SearchSampler::kGrid: return std::make_unique<GridSampler>(space);
    case SearchSampler::kRandom: return std::make_unique<RandomSampler>(space, seed);
    case SearchSampler::kExternal: return nullptr;
    case SearchSampler::kTpe: break;
  }
  return std::make_unique<TpeSampler>(space, seed);
}

}  // namespace mirrortrain::tune
