#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string>

namespace mirrortrain {

// What stops a run before its epochs and steps are done is a signal, by its number, or one of these, which no signal
// has and which tasks agree on as they do on signals.
inline constexpr int kTimeLimit = 1001;  ///< training.time_limit

/// What asks this process to stop training.
class StopRequests {
 public:
  using Clock = std::chrono::steady_clock;

  /// `signal`: set by a signal, must outlive it. `limit`: when training.time_limit is over; nothing if there is none,
  /// or if another task keeps it.
  StopRequests(const std::atomic<int>& signal, std::optional<Clock::time_point> limit)
      : signal_(signal), limit_(limit) {}

  /// From now on the limit counts: this process has made a step. Before, it would keep a chain of runs from ending that
  /// need longer than it to read their data or to validate.
  void begin_limit() { limit_counts_ = true; }

  /// The signal, or kTimeLimit, at which training ends; 0: it continues. Cheap.
  int due() const;

 private:
  const std::atomic<int>& signal_;
  const std::optional<Clock::time_point> limit_;
  bool limit_counts_ = false;
};

/// "SIGTERM", "training.time_limit".
std::string stop_text(int stop);

/// Of a run that it has ended: 128 + a signal's number, as of a process that the signal ends; 0 for a limit that the run
/// was given, and for 0.
int exit_code_of(int stop);

}  // namespace mirrortrain
