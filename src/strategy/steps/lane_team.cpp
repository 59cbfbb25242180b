#include "strategy/steps/lane_team.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <system_error>

#include "base/error.h"

namespace mirrortrain {
namespace {

/// How long a late lane may still take to leave, at least: most come back, and those must not find the team gone.
constexpr double kLeaveSeconds = 3;

std::atomic<bool> one_is_left_behind = false;

}  // namespace

bool lane_is_left_behind() { return one_is_left_behind; }

LaneTeam::LaneTeam(std::vector<Device*> devices, bool spin, double timeout_seconds)
    : devices_(std::move(devices)),
      timeout_seconds_(timeout_seconds),
      start_(size(), spin),
      meet_(size(), spin, timeout_seconds),
      left_(devices_.size()) {
  try {
    for (int lane = 1; lane < size(); ++lane) threads_.emplace_back([this, lane] { loop(lane); });
    devices_[0]->enter_thread();
  } catch (const std::system_error& error) {
    end_threads("not every lane could start");  // no destructor does it for a team that was never made
    throw Error(fmt::format("cannot start {} threads, one for each lane: {}", size(), error.what()));
  } catch (...) {
    end_threads("not every lane could start");
    throw;
  }
}

LaneTeam::~LaneTeam() { end_threads("the run is over"); }

void LaneTeam::end_threads(const std::string& reason) {
  stop_ = true;
  start_.abort(reason);
  meet_.abort(reason);
  for (int lane = 1; lane <= static_cast<int>(threads_.size()); ++lane) {
    std::thread& thread = threads_[static_cast<std::size_t>(lane - 1)];
    if (leaves_in_time(lane)) {
      thread.join();
    } else {
      thread.detach();
      one_is_left_behind = true;
      error_ = std::make_exception_ptr(
          Error(fmt::format("lane {} ({}) did not reach the barrier within {:g} s, and hangs", lane,
                            devices_[static_cast<std::size_t>(lane)]->id().text(), timeout_seconds_)));
    }
  }
  threads_.clear();
}

void LaneTeam::set_timeout(double seconds) {
  timeout_seconds_ = seconds;
  meet_.set_timeout(seconds);
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

/// Where lane 0 hangs, nobody is left to tell of it.
void LaneTeam::end_process_without_lane_0() const {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout_seconds_ + kLeaveSeconds);
  while (!stop_) {
    if (timeout_seconds_ <= 0) return;
    if (std::chrono::steady_clock::now() > deadline) {
      fmt::print(stderr, "error: lane 0 ({}) did not reach the barrier within {:g} s, and hangs\n",
                 devices_.front()->id().text(), timeout_seconds_);
      std::_Exit(1);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void LaneTeam::run(const std::function<void(int)>& work) {
  work_ = &work;
  try {
    if (size() > 1) start_.arrive_and_wait();
    work(0);
    meet();
  } catch (...) {
    record_error(std::current_exception());
    end_threads("another lane failed");  // nobody uses `work` once this returns
    std::rethrow_exception(error_);
  }
}

void LaneTeam::meet() {
  if (size() > 1) meet_.arrive_and_wait();
}

void LaneTeam::loop(int lane) {
  try {
    devices_[static_cast<std::size_t>(lane)]->enter_thread();
    while (true) {
      start_.arrive_and_wait();
      (*work_)(lane);
      meet();
    }
  } catch (...) {
    if (!stop_) {
      record_error(std::current_exception());
      end_process_without_lane_0();
    }
  }
  left_[static_cast<std::size_t>(lane)] = true;
}

/// The first error stays: what the others throw is only that they timed out.
void LaneTeam::record_error(std::exception_ptr error) {
  {
    const std::scoped_lock lock(error_mutex_);
    if (!error_) error_ = std::move(error);
  }
  meet_.abort("another lane failed");
  start_.abort("another lane failed");
}

}  // namespace mirrortrain
