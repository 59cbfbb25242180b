#include "base/watched_call.h"

#include <doctest/doctest.h>

#include <chrono>
#include <future>
#include <memory>

#include "base/error.h"
#include "error_text.h"

using namespace mirrortrain;

TEST_CASE("a watched call returns, and throws, what its work does") {
  bool has_run = false;
  call_watched([&] { has_run = true; }, [] {});
  CHECK(has_run);
  CHECK(error_text([] { call_watched([] { throw Error("no such rank"); }, [] {}); }) == "no such rank");
}

TEST_CASE("work that never returns is left behind as soon as the check throws") {
  struct Work {
    std::promise<void> begun, may_end, ended;
  };
  const auto work = std::make_shared<Work>();
  std::future<void> begun = work->begun.get_future(), ended = work->ended.get_future();
  const std::string message = error_text([&] {
    call_watched(
        [work] {
          work->begun.set_value();
          work->may_end.get_future().wait();
          work->ended.set_value_at_thread_exit();
        },
        [&] {
          if (begun.wait_for(std::chrono::seconds(0)) == std::future_status::ready) throw Error("a rank is missing");
        });
  });
  CHECK(message == "a rank is missing");
  work->may_end.set_value();
  ended.wait();
}
