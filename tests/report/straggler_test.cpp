#include "report/straggler.h"

#include <doctest/doctest.h>

using namespace mirrortrain::report;

TEST_CASE("a worker is named if the others wait for it much, and for no other about as much") {
  const auto named = [](const WaitedForWorkers& waited_for) {
    const auto straggler = straggler_of(waited_for, 10);
    return straggler ? straggler->first : "none";
  };
  CHECK(named({}) == "none");
  CHECK(named({{"worker 0", 0.9}}) == "none");
  CHECK(named({{"worker 0", 0.01}, {"worker 1", 0.05}}) == "none");
  CHECK(named({{"worker 0", 0.3}, {"worker 1", 0.4}}) == "none");
  CHECK(named({{"worker 0", 0.01}, {"worker 1", 0.4}, {"worker 2", 0.02}}) == "worker 1");
  CHECK(named({{"worker 0", 0.5}, {"worker 1", 0.1}}) == "worker 0");
  CHECK(straggler_of({{"worker 0", 0.5}, {"worker 1", 0.1}}, 2)->second == 0.5);
  CHECK_FALSE(
      straggler_of({{"worker 0", 0.5}, {"worker 1", 0.1}}, 1).has_value());  // half a second is not worth a line
}
