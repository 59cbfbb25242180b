#include "data/in_threads.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "error_text.h"

namespace mirrortrain::data {
namespace {

TEST_CASE("each piece of work is done once, whatever the threads") {
  for (const std::int64_t threads : {0, 1, 3, 100}) {
    std::vector<int> times(50, 0);
    CHECK(in_threads(times.size(), threads, [&](std::size_t i) { ++times[i]; }) == times.size());
    CHECK(std::ranges::count(times, 1) == std::ssize(times));
  }
  CHECK(in_threads(0, 4, [](std::size_t) { throw Error("there is none"); }) == 0);
}

/// Later pieces of work end before earlier ones.
void be_slow(std::size_t i) { std::this_thread::sleep_for(std::chrono::milliseconds(i < 4 ? 20 - 5 * i : 0)); }

TEST_CASE("of several failures the first one's is thrown, as by a loop") {
  for (const std::int64_t threads : {1, 4}) {
    CHECK(error_text([&] {
            in_threads(100, threads, [](std::size_t i) {
              be_slow(i);
              if (i > 0) throw Error("row " + std::to_string(i));
            });
          }) == "row 1");
  }
}

TEST_CASE("the first work that ends it counts, and a failure behind it does not") {
  for (const std::int64_t threads : {1, 4}) {
    const auto work = [](std::size_t i) {
      be_slow(i);
      if (i == 3) throw Error("behind");
      return i != 1 && i != 2;
    };
    CHECK(in_threads(100, threads, work) == 1);
  }
}

}  // namespace
}  // namespace mirrortrain::data
