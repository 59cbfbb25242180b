#pragma once

#include <chrono>
#include <functional>
#include <vector>

namespace mirrortrain {

/// What one lane does in a step: actions, one after the other. It lies on cache lines of its own, as its lane alone
/// keeps its times.
class alignas(64) StepPlan {
 public:
  using Clock = std::chrono::steady_clock;
  struct ActionTime {
    const char* name;
    double seconds;
  };

  void add(const char* name, std::function<void()> run) { actions_.push_back({name, std::move(run)}); }
  /// An action that waits for the other lanes.
  void add_wait(const char* name, std::function<void()> run) { actions_.push_back({name, std::move(run), true}); }

  /// `step_start`: when the step began; a lane that started later waited for it.
  void run(Clock::time_point step_start);

  /// From now on keeps the time of every action.
  void profile() { profiling_ = true; }
  std::vector<ActionTime> action_times() const;

  /// Seconds in all runs since the last `reset_seconds`, and those of them in waits.
  double seconds() const { return seconds_; }
  double waited_seconds() const { return waited_seconds_; }
  void reset_seconds() { seconds_ = waited_seconds_ = 0; }

 private:
  struct Action {
    const char* name;
    std::function<void()> run;
    bool waits = false;
    double seconds = 0;
  };
  std::vector<Action> actions_;
  bool profiling_ = false;
  double seconds_ = 0, waited_seconds_ = 0;
};

}  // namespace mirrortrain
