#include "device/cpu/thread_team.h"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "base/usable_cores.h"
#include "device/core_of_thread.h"
#include "device/cpu/cpu_device.h"

using namespace mirrortrain;

namespace {

void run(ThreadTeam& team, int threads, int parts, const std::function<void(int)>& body) {
  team.run(
      threads, parts,
      [](void* argument, int part) noexcept { (*static_cast<const std::function<void(int)>*>(argument))(part); },
      const_cast<std::function<void(int)>*>(&body));
}

/// A team of two on two cores, on a thread of its own, as it pins its threads.
void with_two_cores(const std::function<void(ThreadTeam&, int, int)>& body) {
  if (usable_cores().size() < 2) {
    MESSAGE("needs two cores");
    return;
  }
  std::thread([&] {
    const int first = usable_cores()[0], second = usable_cores()[1];
    ThreadTeam team;
    team.resize(2, {first, second});
    body(team, first, second);
  }).join();
}

/// Where the two threads run: the calling one, and its helper.
std::array<int, 2> cores_of(ThreadTeam& team) {
  std::array<int, 2> cores{};
  const auto caller = std::this_thread::get_id();
  run(team, 2, 2, [&](int) {
    cores[std::this_thread::get_id() == caller ? 0 : 1] = testing::only_core();
    team.meet(2);  // so that neither runs both parts
  });
  return cores;
}

/// Whether the two threads run on these cores; on a machine with other work they may be elsewhere for some loops.
bool are_on(ThreadTeam& team, const std::array<int, 2>& cores) {
  for (int loop = 0; loop < 2000; ++loop) {
    if (cores_of(team) == cores) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

}  // namespace

TEST_CASE("a team runs each part of a loop once, and all that they wrote is visible afterwards") {
  ThreadTeam team;
  for (const int threads : {1, 2, 3, 5}) {
    for (const int parts : {0, 1, 2, 3, 17, 400}) {
      CAPTURE(threads);
      CAPTURE(parts);
      std::vector<int> times(static_cast<std::size_t>(parts));
      for (int loop = 1; loop <= 50; ++loop) {
        run(team, threads, parts, [&](int part) { ++times[static_cast<std::size_t>(part)]; });
        REQUIRE(times == std::vector<int>(static_cast<std::size_t>(parts), loop));
      }
    }
  }
}

TEST_CASE("a team has the threads that it was resized to, also fewer than before") {
  ThreadTeam team;
  for (const int threads : {3, 1, 2}) {
    team.resize(threads, {});
    std::vector<int> times(64);
    run(team, threads, 64, [&](int part) { ++times[static_cast<std::size_t>(part)]; });
    CHECK(times == std::vector<int>(64, 1));
  }
}

TEST_CASE("parts that meet see what all wrote before") {
  ThreadTeam team;
  std::array<int, 3> values{};
  std::atomic<int> wrong = 0;
  run(team, 3, 3, [&](int part) {
    for (int round = 1; round <= 200; ++round) {
      values[static_cast<std::size_t>(part)] = round;
      team.meet(3);
      for (const int value : values) wrong += value == round ? 0 : 1;
      team.meet(3);
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("a loop inside of a part runs on the part's thread") {
  ThreadTeam team;
  std::atomic<int> elsewhere = 0, parts = 0;
  run(team, 2, 8, [&](int) {
    CHECK(ThreadTeam::is_inside_part());
    const auto here = std::this_thread::get_id();
    run(ThreadTeam::of_this_thread(), 2, 4, [&](int) {
      ++parts;
      elsewhere += std::this_thread::get_id() == here ? 0 : 1;
    });
  });
  CHECK(parts == 32);
  CHECK(elsewhere == 0);
  CHECK_FALSE(ThreadTeam::is_inside_part());
}

TEST_CASE("a helper without a core in the middle of a part gets the waiting thread's, and returns to its own") {
  with_two_cores([](ThreadTeam& team, int first, int second) {
    const auto caller = std::this_thread::get_id();
    bool moved = false;
    run(team, 2, 2, [&](int) {
      team.meet(2);
      if (std::this_thread::get_id() != caller) moved = testing::is_moved_to(first);
    });
    CHECK(moved);
    CHECK(are_on(team, std::array{first, second}));
  });
}

TEST_CASE("the calling thread without a core in the middle of a part exchanges cores with its helper") {
  with_two_cores([](ThreadTeam& team, int first, int second) {
    const auto caller = std::this_thread::get_id();
    bool moved = false;
    run(team, 2, 2, [&](int) {
      team.meet(2);
      if (std::this_thread::get_id() == caller) moved = testing::is_moved_to(second);
    });
    CHECK(moved);
    CHECK(are_on(team, std::array{second, first}));
  });
}

TEST_CASE("a team leaves its own cores and returns to them when told") {
  with_two_cores([](ThreadTeam& team, int first, int second) {
    team.keep_to_own_cores(false);
    CHECK(are_on(team, std::array{-1, -1}));
    team.keep_to_own_cores(true);
    CHECK(are_on(team, std::array{first, second}));
  });
}
