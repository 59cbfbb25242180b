#include "strategy/steps/shared_work.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "base/barrier.h"
#include "base/error.h"
#include "error_text.h"

using namespace mirrortrain;

namespace {

using Order = SharedWork::Order;

constexpr int kPieces = 7;

/// How often each piece of each lane was done. In turn, no atomics: the list alone orders the pieces.
struct Ledger {
  explicit Ledger(int lanes) : counts(static_cast<std::size_t>(lanes), std::vector<int>(kPieces)) {}

  std::vector<std::vector<int>> counts;
  std::atomic<int> out_of_turn = 0;
};

void add_lists(SharedWork& work, Ledger& ledger, Order order) {
  for (std::size_t lane = 0; lane < ledger.counts.size(); ++lane) {
    std::vector<int>& counts = ledger.counts[lane];
    work.add_list(static_cast<int>(lane), order, kPieces, [&ledger, &counts, order](std::size_t piece, const Step&) {
      if (order == Order::kInTurn && piece > 0 && counts[piece - 1] != counts[piece] + 1) ++ledger.out_of_turn;
      ++counts[piece];
    });
  }
}

std::vector<std::vector<int>> all_done(int lanes, int times) {
  return {static_cast<std::size_t>(lanes), std::vector<int>(kPieces, times)};
}

}  // namespace

TEST_CASE("lanes do every piece once in each round, in turn where they must") {
  for (const Order order : {Order::kInTurn, Order::kAny}) {
    for (const int lanes : {1, 2, 3, 5}) {
      CAPTURE(lanes);
      constexpr int kRounds = 300;
      WorkingLanes working(lanes);
      SharedWork work(lanes, working);
      Ledger ledger(lanes);
      add_lists(work, ledger, order);
      Barrier barrier(lanes, false);
      std::vector<std::thread> threads;
      for (int lane = 0; lane < lanes; ++lane) {
        threads.emplace_back([&, lane] {
          for (int round = 0; round < kRounds; ++round) {
            work.work(lane, Step());
            barrier.arrive_and_wait();
            work.restart(lane);
            barrier.arrive_and_wait();
          }
        });
      }
      for (std::thread& thread : threads) thread.join();
      CHECK(ledger.counts == all_done(lanes, kRounds));
      CHECK(ledger.out_of_turn == 0);
    }
  }
}

TEST_CASE("a lane that does not run has its pieces done by another, and finds nothing to do when it comes") {
  for (const Order order : {Order::kInTurn, Order::kAny}) {
    WorkingLanes working(2);
    SharedWork work(2, working);
    Ledger ledger(2);
    add_lists(work, ledger, order);
    work.work(0, Step());
    CHECK(ledger.counts == all_done(2, 1));
    work.work(1, Step());
    CHECK(ledger.counts == all_done(2, 1));
    work.restart(1);
    work.work(1, Step());
    CHECK(ledger.counts[0] == std::vector<int>(kPieces, 1));
    CHECK(ledger.counts[1] == std::vector<int>(kPieces, 2));
  }
}

TEST_CASE("a lane waits a while for one in the middle of its piece, and goes on with the rest") {
  WorkingLanes working(2);
  SharedWork work(2, working);
  std::atomic<int> begun = 0;
  std::atomic<bool> go_on = false;
  work.add_list(0, Order::kInTurn, 0, [](std::size_t, const Step&) {});
  work.add_list(1, Order::kInTurn, 3, [&](std::size_t, const Step&) {
    if (++begun == 1) {
      while (!go_on) std::this_thread::yield();
    }
  });
  std::thread owner([&] { work.work(1, Step()); });
  while (begun == 0) std::this_thread::yield();
  const double waited = work.work(0, Step());  // comes back although the owner is still in its first piece
  CHECK(waited > 0);
  CHECK(begun == 1);
  go_on = true;
  owner.join();
  CHECK(begun == 3);
}

TEST_CASE("what a piece throws reaches the lane that did it, and no lane waits for the rest forever") {
  WorkingLanes working(2);
  SharedWork work(2, working);
  work.add_list(0, Order::kInTurn, 2, [](std::size_t, const Step&) { throw Error("no memory"); });
  work.add_list(1, Order::kInTurn, 1, [](std::size_t, const Step&) {});
  CHECK(error_text([&] { work.work(0, Step()); }) == "no memory");
  CHECK(work.work(1, Step()) > 0);
}

TEST_CASE("lanes that rest leave all pieces to the others") {
  constexpr int kLanes = 3;
  WorkingLanes working(kLanes);
  SharedWork work(kLanes, working);
  Ledger ledger(kLanes);
  add_lists(work, ledger, Order::kInTurn);
  for (int step = 0; step < 10; ++step) {
    working.waited(1);
    working.step_took(1.0 / (step + 1));  // faster and faster
  }
  REQUIRE(working.count() == 1);
  for (const int lane : {2, 1}) work.work(lane, Step());
  CHECK(ledger.counts == all_done(kLanes, 0));
  work.work(0, Step());
  CHECK(ledger.counts == all_done(kLanes, 1));
}
