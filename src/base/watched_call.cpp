#include "base/watched_call.h"

#include <fmt/format.h>

#include <chrono>
#include <future>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.h"

namespace mirrortrain {
namespace {

constexpr std::chrono::milliseconds kBetweenChecks{5};

std::thread start(std::packaged_task<void()> task) {
  try {
    return std::thread(std::move(task));
  } catch (const std::system_error& error) {
    throw Error(fmt::format("cannot start a thread: {}", error.what()));
  }
}

}  // namespace

void call_watched(std::function<void()> work, const std::function<void()>& check) {
  std::packaged_task<void()> task(std::move(work));
  std::future<void> done = task.get_future();
  std::thread thread = start(std::move(task));
  try {
    while (done.wait_for(kBetweenChecks) != std::future_status::ready) check();
  } catch (...) {
    thread.detach();
    throw;
  }
  thread.join();
  done.get();
}

}  // namespace mirrortrain
