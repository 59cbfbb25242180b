#include "strategy/parameter_server/dispatcher.h"

#include <doctest/doctest.h>

#include <future>

#include "base/error.h"
#include "error_text.h"

namespace mirrortrain {
namespace {

DispatchedStep step(std::int64_t number, bool trains = true) {
  DispatchedStep step;
  step.step = number;
  step.trains = trains;
  return step;
}

StepResult result(double loss) {
  StepResult result;
  result.sums.loss = loss;
  return result;
}

/// A worker that just notes what it is given.
struct Notes {
  std::vector<DispatchedStep> given;
  Dispatcher::Send send() {
    return [this](const DispatchedStep& step) { given.push_back(step); };
  }
};

TEST_CASE("steps go to the worker with the fewest, and results come in the order of the steps") {
  Dispatcher dispatcher({});
  Notes a, b;
  const int of_a = dispatcher.join("worker 0", a.send()), of_b = dispatcher.join("worker 1", b.send());
  for (int i = 1; i <= 4; ++i) dispatcher.give(step(i));
  REQUIRE(a.given.size() == 2);
  REQUIRE(b.given.size() == 2);
  CHECK(a.given[1].oldest_open_step == 1);
  dispatcher.finish(of_b, b.given[1].number, result(4));
  dispatcher.finish(of_a, a.given[0].number, result(1));
  dispatcher.finish(of_a, a.given[1].number, result(3));
  dispatcher.give(step(5));
  CHECK(a.given.back().step == 5);  // b still has step 2
  CHECK(a.given.back().oldest_open_step == 2);
  dispatcher.finish(of_b, b.given[0].number, result(2));
  dispatcher.finish(of_a, a.given.back().number, result(5));
  std::vector<double> losses;
  for (const StepResult& one : dispatcher.take()) losses.push_back(one.sums.loss);
  CHECK(losses == std::vector<double>{1, 2, 3, 4, 5});
  CHECK(dispatcher.take().empty());
}

TEST_CASE("the steps of a worker that leaves go to others, and what it still finishes is left out") {
  Dispatcher dispatcher({});
  Notes a, b;
  const int of_a = dispatcher.join("worker 0", a.send());
  dispatcher.give(step(1));
  dispatcher.give(step(2));
  dispatcher.leave(of_a, "its connection broke");
  const int of_b = dispatcher.join("worker 1", b.send());
  REQUIRE(b.given.size() == 2);
  CHECK(b.given[0].step == 1);
  CHECK(b.given[0].number == a.given[0].number);
  dispatcher.finish(of_a, a.given[0].number, result(100));
  dispatcher.finish(of_b, b.given[0].number, result(1));
  dispatcher.finish(of_b, b.given[1].number, result(2));
  CHECK(dispatcher.take()[0].sums.loss == 1);
}

/// Whether a step can be given now; it is, if so.
bool can_give(Dispatcher& dispatcher, std::int64_t number, std::vector<std::future<void>>& waiting) {
  auto given = std::async(std::launch::async, [&dispatcher, number] { dispatcher.give(step(number)); });
  const bool can = given.wait_for(std::chrono::milliseconds(50)) == std::future_status::ready;
  waiting.push_back(std::move(given));
  return can;
}

TEST_CASE("max_staleness bounds the updates that can come between a pull and its push, however slow a worker is") {
  Dispatcher dispatcher({.max_staleness = 2});
  Notes slow, fast;
  const int of_slow = dispatcher.join("worker 0", slow.send()), of_fast = dispatcher.join("worker 1", fast.send());
  std::vector<std::future<void>> waiting;
  CHECK(can_give(dispatcher, 1, waiting));
  CHECK(can_give(dispatcher, 2, waiting));
  dispatcher.finish(of_fast, fast.given.back().number, {});
  CHECK(can_give(dispatcher, 3, waiting));
  dispatcher.finish(of_fast, fast.given.back().number, {});
  // Step 1 has been open beside steps 2 and 3: a third could make it too old.
  CHECK_FALSE(can_give(dispatcher, 4, waiting));
  dispatcher.finish(of_slow, slow.given.front().number, {});
  waiting.back().get();
}

TEST_CASE("max_staleness 0 is one step at a time, but evaluation is not bounded") {
  Dispatcher dispatcher({.max_staleness = 0});
  Notes worker;
  const int number = dispatcher.join("worker 0", worker.send());
  std::vector<std::future<void>> waiting;
  dispatcher.give(step(1));
  CHECK_FALSE(can_give(dispatcher, 2, waiting));
  dispatcher.finish(number, 1, {});
  waiting.back().get();
  dispatcher.finish(number, 2, {});
  dispatcher.give(step(0, false));
  dispatcher.give(step(0, false));
  CHECK(worker.given.size() == 4);
}

TEST_CASE("without workers for too long the run fails, and names those that left") {
  Dispatcher dispatcher({.timeout_seconds = 0.2});
  CHECK(contains(error_text([&] { dispatcher.give(step(1)); }), "none has come"));
  Notes worker;
  const int number = dispatcher.join("worker 3", worker.send());
  dispatcher.give(step(7));
  dispatcher.leave(number, "its connection broke");
  const std::string text = error_text([&] { dispatcher.wait(); });
  CHECK(contains(text, "worker 3: its connection broke in step 7"));
  CHECK(contains(text, "timeout_seconds"));
}

TEST_CASE("workers that fell silent at once are missed from then on, not from when that was noticed") {
  Dispatcher dispatcher({.timeout_seconds = 30});
  Notes first, second;
  const int numbers[] = {dispatcher.join("worker 0", first.send()), dispatcher.join("worker 1", second.send())};
  dispatcher.give(step(7));
  dispatcher.leave(numbers[0], "it has not been heard from for 31 s", 31);
  dispatcher.leave(numbers[1], "it has not been heard from for 31 s", 31);
  CHECK(contains(error_text([&] { dispatcher.wait(); }), "worker 1: it has not been heard from for 31 s"));
}

TEST_CASE("a failure reaches who waits") {
  Dispatcher dispatcher({});
  Notes worker;
  dispatcher.join("worker 0", worker.send());
  dispatcher.give(step(1));
  auto waits = std::async(std::launch::async, [&] { return error_text([&] { dispatcher.wait(); }); });
  dispatcher.fail("ps 1 is gone");
  CHECK(waits.get() == "ps 1 is gone");
}

}  // namespace
}  // namespace mirrortrain
