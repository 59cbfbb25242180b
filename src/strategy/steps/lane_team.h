#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/barrier.h"
#include "device/device.h"
#include "strategy/steps/late_lanes.h"
#include "strategy/steps/pipeline.h"
#include "strategy/steps/shared_work.h"
#include "strategy/steps/working_lanes.h"

namespace mirrortrain {

/// The lanes' threads. Lane 0 is the thread that created the team and calls `run`, so a single lane needs no thread and
/// no waiting.
class LaneTeam {
 public:
  /// `replicas`: each lane's, as errors name them. `spin`: every lane has its own cores. `timeout_seconds`: how long a
  /// lane waits for the others in `arrive_and_wait`; 0: no limit. The devices must outlive the team. Throws Error if
  /// the system cannot start as many threads as the devices use.
  LaneTeam(std::vector<Device*> devices, std::vector<std::string> replicas, bool spin, double timeout_seconds);
  LaneTeam(const LaneTeam&) = delete;
  LaneTeam& operator=(const LaneTeam&) = delete;
  ~LaneTeam();

  int size() const { return static_cast<int>(devices_.size()); }

  /// Takes effect immediately; must not be called during a run.
  void set_timeout(double seconds);

  /// Calls work(lane) on every lane's thread and returns when all are done. Throws the first error of any lane; the
  /// team cannot run again then. A lane that still hangs after another timeout, or a few seconds if that is longer, is
  /// left behind: the process must then end, as the lane may still write to memory that others free. `step`: as errors
  /// name it. Does not allocate.
  void run(const std::function<void(int lane)>& work, std::int64_t step);
  /// How long the lane waited for the others at the end of the last run, in seconds.
  double waited_at_end(int lane) const {
    return std::chrono::duration<double>(ended_ - done_[static_cast<std::size_t>(lane)].time).count();
  }

  // The work that lanes of one memory share, and how many of them do it.
  SharedWork& programs() { return programs_; }
  SharedWork& updates() { return updates_; }
  WorkingLanes& working_lanes() { return working_; }
  /// If they are a pipeline.
  std::optional<PipelineProgress>& pipeline() { return pipeline_; }

  /// Inside `work`: waits for the other lanes; all writes before it are visible to all after it.
  void arrive_and_wait();
  /// The barrier of `arrive_and_wait`; null for a single lane.
  Barrier* barrier() { return size() > 1 ? &barrier_ : nullptr; }

 private:
  using Clock = std::chrono::steady_clock;
  /// On its own cache line, as its lane writes it in every run.
  struct alignas(64) Done {
    Clock::time_point time;
  };

  void enter(int lane);
  void loop(int lane);
  void finish(int lane);
  void record_error(std::exception_ptr error);
  void end_threads(const std::string& reason);
  bool leaves_in_time(int lane) const;
  void end_process_without_lane_0() const;
  std::string hang_text(int lane) const;

  std::vector<Device*> devices_;
  std::vector<std::string> replicas_;
  WorkingLanes working_;
  LateLanes late_;
  SharedWork programs_, updates_;
  std::optional<PipelineProgress> pipeline_;
  double timeout_seconds_;
  Barrier start_, barrier_;
  const std::function<void(int)>* work_ = nullptr;
  std::int64_t step_ = 0;
  std::vector<Done> done_;     ///< by lane: when its work of the last run finished
  Clock::time_point ended_{};  ///< when all had met afterwards
  std::atomic<bool> stop_ = false;
  std::mutex error_mutex_;
  std::exception_ptr error_;
  std::vector<std::atomic<bool>> left_;  ///< by lane: its thread is about to end
  std::vector<std::thread> threads_;
};

/// Whether a lane's thread hangs and has been left behind (see LaneTeam::run): it may still write to the strategy's
/// memory, so the process must end without freeing it.
bool lane_is_left_behind();

}  // namespace mirrortrain
