#include "base/barrier.h"

#include <doctest/doctest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "error_text.h"

using namespace mirrortrain;

namespace {

template <class Body>
void run_threads(int count, const Body& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([&, i] { body(i); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

TEST_CASE("what each thread wrote before a barrier all see after it") {
  for (const bool spin : {false, true}) {
    for (const int size : {1, 2, 3, 5}) {
      CAPTURE(spin);
      CAPTURE(size);
      const int rounds = spin && size > 2 ? 50 : 2000;
      Barrier barrier(size, spin);
      std::vector<int> counts(static_cast<std::size_t>(size));  // no atomics: the barrier alone orders them
      std::vector<int> wrong(static_cast<std::size_t>(size));
      run_threads(size, [&](int me) {
        for (int round = 1; round <= rounds; ++round) {
          counts[static_cast<std::size_t>(me)] = round;
          barrier.arrive_and_wait();
          for (const int count : counts) wrong[static_cast<std::size_t>(me)] += count != round;
          barrier.arrive_and_wait();
        }
      });
      CHECK(wrong == std::vector<int>(static_cast<std::size_t>(size)));
    }
  }
}

TEST_CASE("abort wakes those who spin and those who sleep, and stays") {
  for (const bool spin : {false, true}) {
    Barrier barrier(3, spin);
    std::vector<std::string> messages(3);
    run_threads(3, [&](int me) {
      if (me == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        barrier.abort("rank 0 gave up");
        barrier.abort("a second reason");
      }
      messages[static_cast<std::size_t>(me)] = error_text([&] { barrier.arrive_and_wait(); });
    });
    CHECK(messages == std::vector<std::string>(3, "rank 0 gave up"));
    CHECK(barrier.aborted());
    CHECK(error_text([&] { barrier.arrive_and_wait(); }) == "rank 0 gave up");
  }
}

TEST_CASE("a thread that never comes is an error after the timeout, for all who wait") {
  Barrier barrier(3, true, 0.05);
  std::vector<std::string> messages(2);
  run_threads(2,
              [&](int me) { messages[static_cast<std::size_t>(me)] = error_text([&] { barrier.arrive_and_wait(); }); });
  CHECK(contains(messages[0], "waited 0.05 seconds"));
  CHECK(messages[0] == messages[1]);
}
