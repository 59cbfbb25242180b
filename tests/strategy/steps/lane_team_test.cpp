#include "strategy/steps/lane_team.h"

#include <doctest/doctest.h>

#include <memory>

#include "base/error.h"
#include "device/cpu/cpu_device.h"

namespace mirrortrain {
namespace {

struct Team {
  std::vector<std::unique_ptr<Device>> owned;
  std::unique_ptr<LaneTeam> team;

  explicit Team(int lanes, double timeout_seconds = 0) {
    std::vector<Device*> devices;
    std::vector<std::string> replicas;
    for (int i = 0; i < lanes; ++i) {
      owned.push_back(make_cpu_device(i, 1, {}));
      devices.push_back(owned.back().get());
      replicas.push_back("replica " + std::to_string(i));
    }
    team = std::make_unique<LaneTeam>(devices, replicas, false, timeout_seconds);
  }
};

TEST_CASE("every lane works once per run, and what it wrote is seen afterwards") {
  for (const int lanes : {1, 2, 5}) {
    Team fixture(lanes);
    std::vector<int> worked(static_cast<std::size_t>(lanes), 0);
    for (int run = 0; run < 100; ++run)
      fixture.team->run([&](int lane) { ++worked[static_cast<std::size_t>(lane)]; }, 1);
    CHECK(worked == std::vector<int>(static_cast<std::size_t>(lanes), 100));
  }
}

TEST_CASE("lanes see what the others wrote before they met") {
  Team fixture(3);
  std::vector<int> written(3, 0), seen(3, 0);
  fixture.team->run(
      [&](int lane) {
        written[static_cast<std::size_t>(lane)] = lane + 1;
        fixture.team->arrive_and_wait();
        for (const int value : written) seen[static_cast<std::size_t>(lane)] += value;
      },
      1);
  CHECK(seen == std::vector{6, 6, 6});
}

TEST_CASE("the error of any lane leaves run, and nobody hangs") {
  for (const int failing : {0, 1, 2}) {
    Team fixture(3);
    CHECK_THROWS_WITH_AS(fixture.team->run(
                             [&](int lane) {
                               if (lane == failing) throw Error("lane is broken");
                               fixture.team->arrive_and_wait();
                             },
                             1),
                         "lane is broken", Error);
  }
}

TEST_CASE("a lane that does not reach a barrier fails the run after the timeout") {
  Team fixture(2, 0.05);
  CHECK_THROWS_AS(fixture.team->run(
                      [&](int lane) {
                        if (lane == 1) std::this_thread::sleep_for(std::chrono::milliseconds(400));
                        fixture.team->arrive_and_wait();
                      },
                      1),
                  Error);
}

TEST_CASE("a lane that never comes back is named and left behind") {
  // What the lane left behind still looks at lives on, and it does not go back to the team, which is gone then.
  static Team* fixture = new Team(3, 0.05);
  static const std::function<void(int)> work = [](int lane) {
    while (lane == 2) std::this_thread::sleep_for(std::chrono::seconds(1));
    fixture->team->arrive_and_wait();
  };
  CHECK_THROWS_WITH_AS(fixture->team->run(work, 7), "replica 2 on cpu:2 did not finish step 7 within 0.05 s, and hangs",
                       Error);
}

}  // namespace
}  // namespace mirrortrain
