#include "strategy/steps/lane_team.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <latch>
#include <system_error>

#include "base/error.h"
#include "base/hung_process.h"

namespace mirrortrain {
namespace {

/// Minimum time for a late lane to leave: most come back, and the team must still exist when they do.
constexpr double kLeaveSeconds = 3;

std::atomic<bool> one_is_left_behind = false;

/// Tested in advance, so that one error names all of them.
void require_threads(const std::vector<Device*>& devices) {
  int count = 0;
  for (const Device* device : devices) count += device->threads();
  std::latch all(1);
  std::vector<std::jthread> started;
  try {
    while (static_cast<int>(started.size()) + 1 < count) started.emplace_back([&] { all.wait(); });
    all.count_down();
  } catch (const std::system_error& error) {
    all.count_down();
    throw Error(
        fmt::format("cannot start the {} threads of {} device{}: {}; raise the limit of processes (ulimit -u), or "
                    "take fewer devices or threads_per_replica",
                    count, devices.size(), devices.size() == 1 ? "" : "s", error.code().message()));
  }
}

}  // namespace

bool lane_is_left_behind() { return one_is_left_behind; }

LaneTeam::LaneTeam(std::vector<Device*> devices, std::vector<std::string> replicas, bool spin, double timeout_seconds)
    : devices_(std::move(devices)),
      replicas_(std::move(replicas)),
      working_(size()),
      late_(size(), working_),
      programs_(size(), working_, &late_),
      updates_(size(), working_, &late_),
      timeout_seconds_(timeout_seconds),
      start_(size(), spin),
      barrier_(size(), spin, timeout_seconds, spin ? &late_ : nullptr),
      done_(devices_.size()),
      left_(devices_.size()) {
  require_threads(devices_);
  try {
    for (int lane = 1; lane < size(); ++lane) threads_.emplace_back([this, lane] { loop(lane); });
    enter(0);
  } catch (...) {
    end_threads("the threads of a device could not start");  // a team that was never constructed has no destructor call
    throw;
  }
}

LaneTeam::~LaneTeam() { end_threads("the run is over"); }

void LaneTeam::end_threads(const std::string& reason) {
  stop_ = true;
  start_.abort(reason);
  barrier_.abort(reason);
  if (pipeline_) pipeline_->abort(reason);
  for (int lane = 1; lane <= static_cast<int>(threads_.size()); ++lane) {
    std::thread& thread = threads_[static_cast<std::size_t>(lane - 1)];
    if (leaves_in_time(lane)) {
      thread.join();
    } else {
      thread.detach();
      one_is_left_behind = true;
      error_ = std::make_exception_ptr(Error(hang_text(lane)));
    }
  }
  threads_.clear();
}

void LaneTeam::set_timeout(double seconds) {
  timeout_seconds_ = seconds;
  barrier_.set_timeout(seconds);
  if (pipeline_) pipeline_->set_timeout(seconds);
}

bool LaneTeam::leaves_in_time(int lane) const {
  const auto& left = left_[static_cast<std::size_t>(lane)];
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(std::max(timeout_seconds_, kLeaveSeconds));
  while (!left) {
    if (timeout_seconds_ > 0 && std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

std::string LaneTeam::hang_text(int lane) const {
  const auto index = static_cast<std::size_t>(lane);
  return fmt::format("{} on {} did not finish {} within {:g} s, and hangs", replicas_[index],
                     devices_[index]->id().text(), step_ > 0 ? fmt::format("step {}", step_) : "its step",
                     timeout_seconds_);
}

/// If lane 0 hangs, no other thread can report it.
void LaneTeam::end_process_without_lane_0() const {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout_seconds_ + kLeaveSeconds);
  while (!stop_) {
    if (timeout_seconds_ <= 0) return;
    if (std::chrono::steady_clock::now() > deadline) {
      end_hung_process(hang_text(0));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void LaneTeam::run(const std::function<void(int)>& work, std::int64_t step) {
  work_ = &work;
  step_ = step;
  try {
    if (size() > 1) start_.arrive_and_wait();
    work(0);
    finish(0);
    ended_ = Clock::now();
  } catch (...) {
    record_error(std::current_exception());
    end_threads("another device failed");  // no lane uses `work` once this returns
    std::rethrow_exception(error_);
  }
}

void LaneTeam::finish(int lane) {
  done_[static_cast<std::size_t>(lane)].time = Clock::now();
  arrive_and_wait();
}

void LaneTeam::arrive_and_wait() {
  if (size() > 1) barrier_.arrive_and_wait();
}

void LaneTeam::enter(int lane) {
  devices_[static_cast<std::size_t>(lane)]->enter_thread();
  late_.enter(lane);
}

void LaneTeam::loop(int lane) {
  try {
    enter(lane);
    while (true) {
      start_.arrive_and_wait();
      (*work_)(lane);
      finish(lane);
    }
  } catch (...) {
    if (!stop_) {
      record_error(std::current_exception());
      end_process_without_lane_0();
    }
  }
  left_[static_cast<std::size_t>(lane)] = true;
}

/// Keeps the first error: the others throw only that they timed out.
void LaneTeam::record_error(std::exception_ptr error) {
  {
    const std::scoped_lock lock(error_mutex_);
    if (!error_) error_ = std::move(error);
  }
  if (pipeline_) pipeline_->abort("another device failed");
  barrier_.abort("another device failed");
  start_.abort("another device failed");
}

}  // namespace mirrortrain
