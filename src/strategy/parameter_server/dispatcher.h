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
  std::int64_t number = 0;  ///< of the order, from 1; given by the dispatcher
  bool trains = true;
  int data_set = 0;  ///< in the order of BatchSizes::examples
  std::vector<std::int64_t> rows;
  std::int64_t epoch = 0, step = 0, updates = 0;
  double learning_rate = 0;
  std::int64_t generation = 0;        ///< of the variables; see ServedVariables
  std::int64_t oldest_open_step = 0;  ///< every training step before it is done; given by the dispatcher
  std::int64_t snapshot = 0;          ///< of an evaluation: those with equal numbers read equal values
};

struct StepResult {
  StepSums sums;
  std::optional<std::int64_t> staleness;  ///< of training that was applied
};

/// Deals the steps of a run to the workers that are there. The steps of a worker that leaves go to others. Knows no
/// network: connections are functions. May be used on any thread; one gives and takes.
class Dispatcher {
 public:
  /// A worker computes one step while it pulls variables for the next.
  static constexpr std::size_t kStepsAtWorker = 2;

  struct Options {
    /// Bounds how many updates are applied between a step's pull and its push, by the number of training steps that
    /// are open while it is.
    std::optional<std::int64_t> max_staleness;
    double timeout_seconds = 60;  ///< without any worker; 0: no limit
  };
  explicit Dispatcher(const Options& options) : options_(options) {}

  /// Returns once a worker has the step. Throws Error where there is no worker for too long, or the run has failed.
  void give(DispatchedStep step);
  /// Waits until every step is done. Throws like `give`.
  void wait();
  /// Waits, then returns the results since the last call in the order of the steps. Throws like `give`.
  std::vector<StepResult> take();

  // Of the connections to workers.

  /// Called without locks, from any thread; a step that cannot be sent is as good as sent: the worker will leave.
  using Send = std::function<void(const DispatchedStep&)>;
  /// Returns the worker's number.
  int join(const std::string& name, Send send);
  /// What a worker did not have to do any more is left out.
  void finish(int worker, std::int64_t number, StepResult result);
  /// `silent_seconds`: how long it had not been heard from, and so may have been gone.
  void leave(int worker, const std::string& reason, double silent_seconds = 0);

  /// The run has failed: whoever gives and takes learns it.
  void fail(const std::string& reason);

  /// Returns once so many workers are there. Throws like `give`.
  void wait_for_workers(std::size_t count);

 private:
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<std::mutex>;
  struct Open {
    DispatchedStep step;
    int worker = -1;               ///< -1: with none
    std::int64_t overlapping = 0;  ///< training steps that were open at any time while this one was
  };
  struct Worker {
    std::string name;
    Send send;
    std::size_t steps = 0;  ///< open ones
  };

  template <class Condition>
  void wait_until(Lock& lock, const Condition& condition);
  void throw_without_workers() const;
  bool may_open(const DispatchedStep& step) const;
  int free_worker() const;
  void open(DispatchedStep step);
  /// Gives steps that are with none to who is free. Unlocks.
  void deliver(Lock& lock);

  const Options options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int, Worker> workers_;
  std::map<std::string, std::string> departed_;  ///< why, by name
  int next_worker_ = 0;
  std::map<std::int64_t, Open> open_;                ///< by number
  std::deque<std::optional<StepResult>> results_;    ///< from the first that nobody took
  std::int64_t first_result_ = 1, next_number_ = 1;  ///< numbers
  Clock::time_point last_worker_ = Clock::now();     ///< when one was there
  Clock::time_point last_heard_;                     ///< of those that left
  std::string failure_;
};

}  // namespace mirrortrain
