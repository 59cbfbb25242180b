#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "train/preemption_watch.h"

namespace mirrortrain {

// What stops a run before its epochs and steps are done is a signal, by its number, or one of these, which no signal
// has and which tasks agree on as they do on signals.
inline constexpr int kTimeLimit = 1001;  ///< training.time_limit
inline constexpr int kPreempted = 1002;  ///< termination.watch

/// What asks this process to stop training.
class StopRequests {
 public:
  using Clock = std::chrono::steady_clock;

  /// `limit`: when training.time_limit is over; nothing if there is none, or if another task keeps it. Starts
  /// termination.watch, and throws what PreemptionWatch does. `options` must outlive it.
  StopRequests(const TerminationOptions& options, std::optional<Clock::time_point> limit);

  /// From now on `signal`, which must outlive this, is set by signals.
  void follow(const std::atomic<int>& signal) { signal_ = &signal; }
  /// From now on the limit counts: this process has made a step. Before, it would keep a chain of runs from ending that
  /// need longer than it to read their data or to validate.
  void begin_limit() { limit_counts_ = true; }

  /// Why training ends now: a signal, kTimeLimit or kPreempted; 0: it continues. SIGTERM and termination.watch are
  /// notices, after which it continues for termination.grace_seconds. Cheap.
  int due();

 private:
  int notice() const;

  const TerminationOptions& options_;
  const std::optional<Clock::time_point> limit_;
  std::unique_ptr<PreemptionWatch> watch_;  ///< null without termination.watch
  const std::atomic<int>* signal_ = nullptr;
  bool limit_counts_ = false;
  int noticed_ = 0;               ///< the first notice
  Clock::time_point grace_ends_;  ///< once it is noticed
};

/// "SIGTERM", "training.time_limit", "termination.watch".
std::string stop_text(int stop);

/// Of a run that it has ended: TerminationOptions::code() of SIGTERM and kPreempted; 128 + another signal's number, as
/// of a process that the signal ends; 0 for a limit that the run was given, and for 0.
int exit_code_of(int stop, const TerminationOptions& options);

}  // namespace mirrortrain
