#include "runtime/arena.h"

#include <doctest/doctest.h>

#include <random>

namespace mirrortrain {
namespace {

TEST_CASE("tensors that never live at the same time share memory") {
  const ArenaPlan plan = plan_arena({{1000, 0, 1}, {1000, 2, 3}, {1000, 4, 5}});
  CHECK(plan.bytes == 1024);
}

TEST_CASE("tensors that live at the same time never overlap") {
  std::mt19937 random(1);
  std::vector<Lifetime> lifetimes;
  for (int i = 0; i < 200; ++i) {
    const std::size_t first = random() % 50;
    lifetimes.push_back({random() % 5000, first, first + random() % 10});
  }
  const ArenaPlan plan = plan_arena(lifetimes);
  for (std::size_t a = 0; a < lifetimes.size(); ++a) {
    CHECK(plan.offsets[a] % 256 == 0);
    CHECK(plan.offsets[a] + lifetimes[a].bytes <= plan.bytes);
    for (std::size_t b = 0; b < a; ++b) {
      const bool together = lifetimes[a].first <= lifetimes[b].last && lifetimes[b].first <= lifetimes[a].last;
      const bool apart = plan.offsets[a] + lifetimes[a].bytes <= plan.offsets[b] ||
                         plan.offsets[b] + lifetimes[b].bytes <= plan.offsets[a];
      CHECK((!together || apart));
    }
  }
}

TEST_CASE("nothing takes no memory") { CHECK(plan_arena({}).bytes == 0); }

}  // namespace
}  // namespace mirrortrain
