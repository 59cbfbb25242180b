#include "strategy/reduction/waited_for.h"

#include <doctest/doctest.h>

namespace mirrortrain {
namespace {

TEST_CASE("the worker that waits least in a step is the one that the others waited for") {
  WaitedFor waited;
  CHECK(waited.shares().empty());
  // The network takes 0.25 of everybody; worker 1 comes 0.5 after the others.
  const StepTimes late[] = {{1, 0.75}, {0.875, 0.25}, {1, 0.75}};
  waited.add_step(late);
  CHECK(waited.shares() == std::vector<double>{0, 0.5, 0});
  const StepTimes even[] = {{1, 0.25}, {1, 0.25}, {1, 0.25}};
  waited.add_step(even);
  CHECK(waited.seconds == 2);
  CHECK(waited.shares() == std::vector<double>{0, 0.25, 0});
  const StepTimes other[] = {{2, 0}, {2, 1}, {2, 2}};
  waited.add_step(other);
  CHECK(waited.shares() == std::vector<double>{0.375, 0.125, 0});
}

TEST_CASE("evaluations and one worker alone count for nothing, and steps of several add up") {
  WaitedFor waited;
  const StepTimes evaluation[] = {{}, {}};
  waited.add_step(evaluation);
  CHECK(waited.shares().empty());
  const StepTimes alone[] = {{1, 0}};
  waited.add_step(alone);
  CHECK(waited.shares().empty());
  WaitedFor more;
  const StepTimes step[] = {{1, 0.5}, {1, 0}};
  more.add_step(step);
  waited += more;
  waited += more;
  CHECK(waited.shares() == std::vector<double>{0, 0.5});
}

}  // namespace
}  // namespace mirrortrain
