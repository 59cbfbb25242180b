#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/barrier.h"
#include "device/device.h"

namespace mirrortrain {

/// The lanes' threads. Lane 0 is the thread that made the team and calls `run`, so a single lane needs no thread and no
/// waiting.
class LaneTeam {
 public:
  /// `replicas`: of each lane, as an error names them. `spin`: every lane has cores of its own. `timeout_seconds`: how
  /// long a lane waits for the others in `meet`; 0: no limit. The devices must outlive the team. Throws Error where the
  /// system does not start as many threads as the devices compute with.
  LaneTeam(std::vector<Device*> devices, std::vector<std::string> replicas, bool spin, double timeout_seconds);
  LaneTeam(const LaneTeam&) = delete;
  LaneTeam& operator=(const LaneTeam&) = delete;
  ~LaneTeam();

  int size() const { return static_cast<int>(devices_.size()); }

  /// From now on; not during a run.
  void set_timeout(double seconds);

  /// Calls work(lane) on every lane's thread and returns when all are done. Throws the first error of any lane; the
  /// team cannot run again then. A lane that still hangs some seconds, or another timeout, later is left behind: the
  /// process has to end then, as the lane may yet write to what others free. `step`: as an error names it. Allocates
  /// nothing.
  void run(const std::function<void(int lane)>& work, std::int64_t step);
  /// How long the lane waited for the others at the end of the last run, in seconds.
  double waited_at_end(int lane) const {
    return std::chrono::duration<double>(ended_ - done_[static_cast<std::size_t>(lane)].time).count();
  }

  /// Inside `work`: waits for the other lanes; what each wrote before, all see after.
  void meet();
  /// Where they meet; null for a single lane.
  Barrier* barrier() { return size() > 1 ? &meet_ : nullptr; }

 private:
  using Clock = std::chrono::steady_clock;
  /// On a cache line of its own, as its lane writes it in every run.
  struct alignas(64) Done {
    Clock::time_point time;
  };

  void loop(int lane);
  void finish(int lane);
  void record_error(std::exception_ptr error);
  void end_threads(const std::string& reason);
  bool leaves_in_time(int lane) const;
  void end_process_without_lane_0() const;
  std::string hang_text(int lane) const;

  std::vector<Device*> devices_;
  std::vector<std::string> replicas_;
  double timeout_seconds_;
  Barrier start_, meet_;
  const std::function<void(int)>* work_ = nullptr;
  std::int64_t step_ = 0;
  std::vector<Done> done_;     ///< by lane: when its work of the last run was done
  Clock::time_point ended_{};  ///< when all had met after it
  std::atomic<bool> stop_ = false;
  std::mutex error_mutex_;
  std::exception_ptr error_;
  std::vector<std::atomic<bool>> left_;  ///< by lane: its thread is about to end
  std::vector<std::thread> threads_;
};

/// Whether a lane's thread hangs that nobody waits for any more (see LaneTeam::run): it may yet write to the strategy's
/// memory, so the process has to end without freeing it.
bool lane_is_left_behind();

}  // namespace mirrortrain
