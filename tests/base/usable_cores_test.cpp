#include "base/usable_cores.h"

#include <doctest/doctest.h>
#include <sched.h>

#include <thread>
#include <vector>

namespace mirrortrain {
namespace {

// The first call of this program, as that of one that taskset started.
TEST_CASE("the cores of a process are those that it may run on, as of the first call") {
  std::vector<int> found;
  const int core = ::sched_getcpu();
  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(core), &one);
    CHECK(::sched_setaffinity(0, sizeof(one), &one) == 0);
    found = usable_cores();
  }).join();
  CHECK(found == std::vector<int>{core});
  CHECK(usable_cores() == found);
}

}  // namespace
}  // namespace mirrortrain
