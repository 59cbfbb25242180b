#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "device/device.h"
#include "kernels/scalar/step_params.h"
#include "strategy/step_spec.h"

namespace mirrortrain {

/// A step under way, of training or evaluation: the same for all lanes.
struct Step {
  using Clock = std::chrono::steady_clock;

  StepSpec spec;
  StepKey key;
  std::size_t slot = 0;                    ///< of its inputs and sums
  StepParams params;                       ///< what kernels read of it; a replica's have its first row, too
  bool is_filled = false;                  ///< its inputs are in the slot already
  bool is_warming_up = false;              ///< among a key's first, on GPUs that exchange data
  Clock::time_point start = Clock::now();  ///< a lane that starts later has waited for it
};

/// A lane's actions in a step, one after the other. On its own cache lines, as only its lane records its times.
class alignas(64) StepPlan {
 public:
  struct ActionTime {
    const char* name;
    double seconds;
  };

  using Run = std::function<void(const Step&)>;

  void add(const char* name, Run run) { actions_.push_back({name, std::move(run)}); }
  /// Adds an action that only enqueues work, the same for all steps of a kind: adjacent fixed actions are captured
  /// together if the stream can.
  void add_fixed(const char* name, Run run) { actions_.push_back({name, std::move(run), true}); }
  /// Adds a fixed action that a step leaves out if `skips` is true when it gets there. Those beside each other with the
  /// same `skips`, which must outlive the plan and not change between them, are captured together.
  void add_fixed_unless(const bool& skips, const char* name, Run run) {
    actions_.push_back({name, std::move(run), true, &skips});
  }
  /// Starts capturing fixed actions, the second time that a kind of step runs them: kernels that run for the first time
  /// may have to be loaded. If it fails, warns and continues enqueuing one by one.
  void capture_on(Stream& stream) { stream_ = &stream; }

  /// After this many steps of a kind, nothing more is loaded or captured for it.
  static constexpr int kWarmUpSteps = 2;

  void run(const Step& step);

  /// Enqueues the fixed actions one by one, of a plan that leaves none out.
  void run_fixed(const Step& step);
  /// Whether a step of this kind has run.
  bool has_run(const StepKey& key) const { return recordings_.contains(key); }

  /// Starts recording the time of every action, calling `wait` after each, which waits for its enqueued work. `waited`:
  /// the seconds so far that the lane waited for other workers, which count for themselves.
  void profile(std::function<void()> wait, std::function<double()> waited) {
    wait_ = std::move(wait);
    waited_ = std::move(waited);
  }
  /// Of every action; the last one is the wait for other workers, if there was any.
  std::vector<ActionTime> action_times() const;

  /// Seconds of all runs since the last `reset_seconds`, and the part of them before the lane started.
  double seconds() const { return seconds_; }
  double late_seconds() const { return late_seconds_; }
  void reset_seconds() { seconds_ = late_seconds_ = 0; }

 private:
  struct Action {
    const char* name;
    Run run;
    bool fixed = false;
    const bool* skips = nullptr;  ///< null: it is never left out
    double seconds = 0;

    bool is_left_out() const { return skips != nullptr && *skips; }
  };
  /// The captured graphs of one kind of step, by the first action of each group; null where it ran once.
  using Recordings = std::map<std::size_t, std::unique_ptr<Recording>>;

  void run_action(Action& action, const Step& step);
  bool run_fixed_group(std::size_t first, std::size_t last, const Step& step, Recordings& captured);
  std::size_t end_of_fixed(std::size_t first) const;
  std::unique_ptr<Recording> capture(std::size_t first, std::size_t end, const Step& step);

  std::vector<Action> actions_;
  Stream* stream_ = nullptr;  ///< to capture on
  std::map<StepKey, Recordings> recordings_;
  std::function<void()> wait_;  ///< absent if no times are recorded
  std::function<double()> waited_;
  double waited_for_workers_ = 0;  ///< seconds of the actions recorded
  double seconds_ = 0, late_seconds_ = 0;
};

}  // namespace mirrortrain
