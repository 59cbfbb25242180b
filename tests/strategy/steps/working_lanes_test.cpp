#include "strategy/steps/working_lanes.h"

#include <doctest/doctest.h>

#include <initializer_list>

using namespace mirrortrain;

namespace {

/// A training of `lanes` lanes, of which a step takes `seconds`, and they wait for `waits` of it, by the lanes at work.
struct Training {
  explicit Training(int lanes) : working(lanes) {}

  /// Steps for as long as this; returns how much of the time exactly `lanes` lanes worked.
  template <class SecondsOfStep>
  double share_with(int lanes, double duration, const SecondsOfStep& seconds_of_step, double waits = 0.5) {
    double so_far = 0, with = 0;
    while (so_far < duration) {
      const int count = working.count();
      const double seconds = seconds_of_step(count);
      so_far += seconds;
      if (count == lanes) with += seconds;
      if (count > 1) working.waited(waits * seconds);
      working.step_took(seconds);
    }
    return with / so_far;
  }

  WorkingLanes working;
};

}  // namespace

TEST_CASE("all lanes work where none waits for one that does not run") {
  Training training(3);
  const auto step = [](int) { return 0.01; };
  CHECK(training.share_with(3, 20, step, 0) == 1);
  CHECK(training.share_with(3, 20, step, 0.05) == 1);   // of a step now and then
  CHECK(training.share_with(3, 20, step, 0.099) == 1);  // of short waits, as lanes that run have them
}

TEST_CASE("the last lane rests where steps are faster without it") {
  Training training(2);
  const auto contended = [](int lanes) { return lanes == 2 ? 0.02 : 0.015; };
  CHECK(training.share_with(1, 60, contended) > 0.9);
  const auto free = [](int lanes) { return lanes == 2 ? 0.01 : 0.02; };
  training.share_with(2, 4, free, 0);
  CHECK(training.share_with(2, 20, free, 0) == 1);  // noticed within four seconds of such steps
}

TEST_CASE("all lanes go on where steps are not faster without the last") {
  Training training(2);
  for (const double alone : {0.02, 0.0195, 0.03}) {
    CAPTURE(alone);
    CHECK(training.share_with(2, 60, [alone](int lanes) { return lanes == 2 ? 0.02 : alone; }) > 0.9);
  }
}

TEST_CASE("as many lanes rest as there are cores that others have, and one always works") {
  Training four(4), two(2);
  const auto fastest_with_two = [](int lanes) { return lanes == 2 ? 0.01 : lanes == 3 ? 0.015 : 0.02; };
  CHECK(four.share_with(2, 60, fastest_with_two) > 0.8);
  CHECK(two.share_with(0, 60, [](int lanes) { return 0.01 * lanes; }) == 0);
}
