#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "device/device.h"
#include "strategy/step_spec.h"

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
  /// An action that does nothing but enqueue work, the same whenever the step's kind is: neighbours of this sort are
  /// captured together where the stream can.
  void add_fixed(const char* name, std::function<void()> run) { actions_.push_back({name, std::move(run), true}); }
  /// From now on captures what is fixed, the second time that a kind of step comes: kernels that run for the first time
  /// may still have to be loaded. Where that fails it warns, and keeps enqueuing one by one.
  void capture_on(Stream& stream) { stream_ = &stream; }

  /// After so many steps of a kind nothing is loaded or captured for it any more.
  static constexpr int kWarmUpSteps = 2;

  /// `step_start`: when the step began; a lane that started later waited for it.
  void run(Clock::time_point step_start, const StepKey& key);

  /// Enqueues what is fixed, one by one.
  void run_fixed();
  /// Whether a step of this kind ran before.
  bool has_run(const StepKey& key) const { return recordings_.contains(key); }

  /// From now on keeps the time of every action, with `wait` after each, which waits for what it enqueued.
  void profile(std::function<void()> wait) { wait_ = std::move(wait); }
  std::vector<ActionTime> action_times() const;

  /// Seconds in all runs since the last `reset_seconds`, and those of them before the lane had started.
  double seconds() const { return seconds_; }
  double late_seconds() const { return late_seconds_; }
  void reset_seconds() { seconds_ = late_seconds_ = 0; }

 private:
  struct Action {
    const char* name;
    std::function<void()> run;
    bool fixed = false;
    double seconds = 0;
  };
  /// A kind of step that was seen: what was captured, by the first action of each group.
  using Recordings = std::map<std::size_t, std::unique_ptr<Recording>>;

  void run_action(Action& action);
  std::size_t end_of_fixed(std::size_t first) const;
  std::unique_ptr<Recording> capture(std::size_t first, std::size_t end);

  std::vector<Action> actions_;
  Stream* stream_ = nullptr;  ///< to capture on
  std::map<StepKey, Recordings> recordings_;
  std::function<void()> wait_;  ///< absent where no times are kept
  double seconds_ = 0, late_seconds_ = 0;
};

}  // namespace mirrortrain
