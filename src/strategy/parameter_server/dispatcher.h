#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "strategy/step_spec.h"

namespace mirrortrain {

/// A step for one worker to compute.
struct DispatchedStep {
  std::int64_t number = 0;  ///< number of the order, from 1; set by the dispatcher
  bool trains = true;
  int data_set = 0;  ///< in the order of BatchSizes::examples
  std::vector<std::int64_t> rows;
  std::int64_t epoch = 0, step = 0, updates = 0;
  LearningRates learning_rates{};
  std::int64_t generation = 0;        ///< of the variables; see ServedVariables
  std::int64_t oldest_open_step = 0;  ///< every training step before it is done; set by the dispatcher
  std::int64_t snapshot = 0;          ///< of an evaluation: steps with equal numbers read equal values
};

struct StepResult {
  StepSums sums;
  std::optional<std::int64_t> staleness;  ///< of a training step that was applied
};

/// Distributes the steps of a run over the workers that are present. The steps of a worker that leaves go to others.
/// Independent of the network: connections are functions. Thread-safe; `give` and `take` are called by one thread.
class Dispatcher {
 public:
  /// A worker computes one step while it pulls the variables for the next.
  static constexpr std::size_t kStepsAtWorker = 2;

  struct Options {
    /// Limits the number of updates applied between a step's pull and its push, by limiting the training steps that are
    /// open at the same time as it.
    std::optional<std::int64_t> max_staleness;
    double timeout_seconds = 60;  ///< without any worker; 0: no limit
  };
  explicit Dispatcher(const Options& options) : options_(options) {}

  /// Returns once a worker has the step. Throws Error if there is no worker for too long, or if the run has failed.
  void give(DispatchedStep step);
  /// Waits until every step is done. Throws like `give`.
  void wait();
  /// Waits, then returns the results since the last call in the order of the steps. Throws like `give`.
  std::vector<StepResult> take();

  // For the connections to workers.

  /// Called without locks, on any thread; a step that cannot be sent counts as sent: the worker will leave.
  using Send = std::function<void(const DispatchedStep&)>;
  /// Returns the worker's number.
  int join(const std::string& name, Send send);
  /// Results for steps that the worker no longer has are ignored.
  void finish(int worker, std::int64_t number, StepResult result);
  /// `silent_seconds`: time since its last message, for which it may have been gone.
  void leave(int worker, const std::string& reason, double silent_seconds = 0);

  /// The run has failed: waiting callers of `give`, `wait` and `take` throw.
  void fail(const std::string& reason);

  /// Returns once `count` workers are present. Throws like `give`.
  void wait_for_workers(std::size_t count);

 private:
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<std::mutex>;
  struct Open {
    DispatchedStep step;
    int worker = -1;               ///< -1: none
    std::int64_t overlapping = 0;  ///< training steps that were open at the same time as this one
  };
  struct Worker {
    std::string name;
    Send send;
    std::size_t steps = 0;  ///< number of open ones
  };

  template <class Condition>
  void wait_until(Lock& lock, const Condition& condition);
  void throw_without_workers() const;
  bool may_open(const DispatchedStep& step) const;
  int free_worker() const;
  void open(DispatchedStep step);
  /// Gives steps without a worker to free workers. Unlocks.
  void deliver(Lock& lock);

  const Options options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int, Worker> workers_;
  std::map<std::string, std::string> departed_;  ///< reasons by name
  int next_worker_ = 0;
  std::map<std::int64_t, Open> open_;                ///< by number
  std::deque<std::optional<StepResult>> results_;    ///< from the first one not taken
  std::int64_t first_result_ = 1, next_number_ = 1;  ///< numbers
  Clock::time_point last_worker_ = Clock::now();     ///< when a worker was last present
  Clock::time_point last_heard_;                     ///< of workers that left
  std::string failure_;
};

}  // namespace mirrortrain
