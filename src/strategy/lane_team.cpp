#include "strategy/lane_team.h"

#include <fmt/format.h>

#include <system_error>

#include "base/error.h"

namespace mirrortrain {

LaneTeam::LaneTeam(std::vector<Device*> devices, bool spin, double timeout_seconds)
    : devices_(std::move(devices)), start_(size(), spin), meet_(size(), spin, timeout_seconds) {
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
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
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
    if (!stop_) record_error(std::current_exception());
  }
}

/// The first error stays: what the others throw is only that they waited in vain.
void LaneTeam::record_error(std::exception_ptr error) {
  {
    const std::scoped_lock lock(error_mutex_);
    if (!error_) error_ = std::move(error);
  }
  meet_.abort("another lane failed");
  start_.abort("another lane failed");
}

}  // namespace mirrortrain
