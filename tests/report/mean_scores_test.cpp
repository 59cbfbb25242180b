#include "report/mean_scores.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace mirrortrain::report {
namespace {

TEST_CASE("scores of several runs have a mean and a deviation, each by its name") {
  const std::vector<Scores> all = {{1, {{"accuracy", 0.5}}}, {2, {{"accuracy", 0.5}}}, {6, {{"accuracy", 0.5}}}};
  const Scores mean = mean_of(all), deviation = deviation_of(all);
  CHECK(mean.loss == 3);
  CHECK(deviation.loss == doctest::Approx(std::sqrt(14.0 / 3)));  // numpy.std([1, 2, 6])
  CHECK(mean.metrics == all[0].metrics);
  CHECK(deviation.metrics[0].first == "accuracy");
  CHECK(deviation.metrics[0].second == 0);
}

TEST_CASE("what is not finite in one run is not finite in the mean") {
  const std::vector<Scores> all = {{1, {}}, {NAN, {}}};
  CHECK(std::isnan(mean_of(all).loss));
  CHECK(std::isnan(deviation_of(all).loss));
}

}  // namespace
}  // namespace mirrortrain::report
