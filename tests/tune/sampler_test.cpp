#include "tune/sampler.h"

#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "tune/space_from_text.h"

namespace mirrortrain::tune {
namespace {

/// The points of so many trials, each with a loss of its own.
std::vector<Observation> trials_of(const Sampler& sampler, int count) {
  std::vector<Observation> all;
  for (int trial = 0; trial < count; ++trial) {
    const Point point = sampler.suggest(trial, all);
    double loss = 0;
    for (const auto& number : point) loss += std::pow(number.value_or(0) - 1, 2);
    all.push_back({point, Observation::State::kDone, loss});
  }
  return all;
}

std::size_t different_points(const std::vector<Observation>& trials) {
  std::set<Point> points;
  for (const Observation& trial : trials) points.insert(trial.point);
  return points.size();
}

TEST_CASE("no sampler tries the same values twice while there are others") {
  // 4 x (2 + 3) combinations.
  const SearchSpace space = space_from_text(
      "whole.a: {min: 0, max: 3}\nreal.a: {values: [1, 2, 3]}\nreal.b: {min: 0, max: 1, step: 0.5, when: {real.a: "
      "2}}\n");
  REQUIRE(count_combinations(space) == 20);
  for (const SearchSampler kind : {SearchSampler::kRandom, SearchSampler::kTpe, SearchSampler::kGrid}) {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      CAPTURE(seed);
      CHECK(different_points(trials_of(*make_sampler(kind, space, seed), 20)) == 20);
    }
  }
  // None is left: a sampler still answers, with one of them.
  const auto sampler = make_sampler(SearchSampler::kTpe, space, 1);
  CHECK(different_points(trials_of(*sampler, 25)) == 20);
}

TEST_CASE("combinations are counted as far as it is asked") {
  const SearchSpace space = space_from_text("whole.a: {min: 1, max: 1000}\nwhole.b: {min: 1, max: 1000}\n");
  CHECK(count_combinations(space) == 1'000'000);
  CHECK_FALSE(count_combinations(space, 999'999).has_value());
  CHECK_FALSE(count_combinations(space_from_text("real.a: {min: 0, max: 1}\n")).has_value());
}

}  // namespace
}  // namespace mirrortrain::tune
