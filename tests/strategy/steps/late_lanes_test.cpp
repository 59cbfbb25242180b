#include "strategy/steps/late_lanes.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <latch>
#include <thread>
#include <vector>

#include "base/usable_cores.h"
#include "device/core_of_thread.h"
#include "device/cpu/cpu_device.h"
#include "strategy/steps/shared_work.h"

using namespace mirrortrain;

namespace {

/// Two lanes with a core each, on threads of their own.
void run_two_lanes(LateLanes& late, const std::function<void(int lane)>& body) {
  std::latch entered(2);
  std::vector<std::thread> threads;
  for (int lane = 0; lane < 2; ++lane) {
    threads.emplace_back([&, lane] {
      const auto device = make_cpu_device(lane, 1, {usable_cores()[static_cast<std::size_t>(lane)]});
      device->enter_thread();
      late.enter(lane);
      entered.arrive_and_wait();
      body(lane);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

bool has_two_cores() {
  if (usable_cores().size() >= 2) return true;
  MESSAGE("needs two cores");
  return false;
}

}  // namespace

TEST_CASE("a lane without a core gets that of the lane that waits at the barrier, and returns to its own past it") {
  if (!has_two_cores()) return;
  WorkingLanes working(2);
  LateLanes late(2, working);
  Barrier barrier(2, true, 0, &late);
  bool moved = false, returned = false;
  run_two_lanes(late, [&](int lane) {
    barrier.arrive_and_wait();
    if (lane == 1) moved = testing::is_moved_to(usable_cores()[0]);
    barrier.arrive_and_wait();
    if (lane == 1) returned = testing::only_core() == usable_cores()[1];
  });
  CHECK(moved);
  CHECK(returned);
  for (int step = 0; step < 5; ++step) working.step_took(1e-3);
  CHECK(working.count() == 1);  // it happened in steps so short that a lane rests on trial
}

TEST_CASE("a lane without a core in the middle of a piece gets that of the lane that waits for the piece") {
  if (!has_two_cores()) return;
  WorkingLanes working(2);
  LateLanes late(2, working);
  SharedWork work(2, working, &late);
  std::atomic<bool> begun = false;
  bool moved = false, returned = false;
  work.add_list(0, SharedWork::Order::kInTurn, 1, [&](std::size_t, const Step&) {
    while (!begun) std::this_thread::yield();
  });
  work.add_list(1, SharedWork::Order::kInTurn, 1, [&](std::size_t, const Step&) {
    begun = true;
    moved = testing::is_moved_to(usable_cores()[0]);
  });
  run_two_lanes(late, [&](int lane) {
    work.work(lane, Step());
    if (lane == 1) returned = testing::only_core() == usable_cores()[1];
  });
  CHECK(moved);
  CHECK(returned);
}

TEST_CASE("lanes that are not late stay where they are") {
  if (!has_two_cores()) return;
  WorkingLanes working(2);
  LateLanes late(2, working);
  Barrier barrier(2, true, 0, &late);
  // Where other programs take a core meanwhile, a lane is late and is moved: not in all of many short times.
  std::array<std::atomic<int>, 100> elsewhere{};
  run_two_lanes(late, [&](int lane) {
    for (std::atomic<int>& moves : elsewhere) {
      for (int i = 0; i < 30; ++i) {
        barrier.arrive_and_wait();
        if (testing::only_core() != usable_cores()[static_cast<std::size_t>(lane)]) ++moves;
      }
    }
  });
  CHECK(std::ranges::any_of(elsewhere, [](const std::atomic<int>& moves) { return moves == 0; }));
}
