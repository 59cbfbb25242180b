#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cluster/cluster_spec.h"
#include "rpc/security.h"

namespace grpc {
class Service;
}

namespace mirrortrain::rpc {

/// Sent by a task when it joins.
struct Handshake {
  std::string version;
  /// Every resolved key that must be the same on all tasks, with its value, in the configuration's order.
  std::vector<std::pair<std::string, std::string>> configuration;
};

/// An elastic run has gone on without a task.
struct Loss {
  Task task;
  std::chrono::steady_clock::time_point when;
};

/// State that an elastic run passes from one generation of its tasks to the next. A generation trains synchronously; it
/// ends when a task is lost, or when a lost one comes back.
struct Generation {
  int number = 1;
  // Only on the chief.
  std::vector<Task> lost = {};    ///< tasks not to wait for
  std::vector<Loss> losses = {};  ///< so far
  std::string give_up = {};       ///< why this generation ends the run instead of training
  // On the others.
  bool was_cut_off = false;  ///< this task could not hear the chief, and may need long to reach it again
};

/// An elastic run has ended, or is being stopped, before a task that came back could take part again.
struct RunIsOver : Error {
  using Error::Error;
};

/// The signal that stops a generation so that a returning task can take part.
inline constexpr int kRegroup = -1;

/// How long tasks wait for each other.
struct Timeouts {
  /// Until every task has joined; in an elastic run at least long enough to give up those that do not; 0: no limit.
  double join_seconds = 600;
  /// A task not heard from for this long has failed; 0: no limit. Heartbeats are sent once a second.
  double silence_seconds = 60;
  /// Jobs whose tasks may die and come back while the run continues.
  std::vector<Job> may_leave = {};
  /// The run continues without a task that is lost, except the chief.
  bool elastic = false;
  /// In later generations, until the tasks that were not lost have joined; those that have not are lost too. So are in
  /// the first one those that had joined and left again for as long. The chief has silence_seconds and a few more to
  /// answer.
  double regroup_seconds = 30;
  /// On the chief: called when a task of the jobs in may_leave has not been heard from for silence_seconds. Must not
  /// use the control plane.
  std::function<void(const Task& task, const std::string& reason)> on_silence = {};
};

/// The coordination of a cluster's tasks, apart from exchanging gradients: who has joined, what the chief has decided,
/// who has failed. The chief keeps this state, and the others are connected to it. All functions may be called on any
/// thread.
class ControlPlane {
 public:
  /// Starts this task's server, if it is the chief or has `services` (which must outlive the control plane), at its
  /// address in the cluster, and returns when every task of the cluster has joined. Throws UsageError if another task
  /// has another version or configuration (naming the first different key), RunIsOver if this task comes back to an
  /// elastic run that ends, Error if tasks do not join in time, the address cannot be used, or another task has failed.
  static std::unique_ptr<ControlPlane> join(const ClusterSpec& cluster, const Security& security,
                                            const Handshake& handshake, const Timeouts& timeouts,
                                            std::span<grpc::Service* const> services = {},
                                            const Generation& generation = {});
  /// Says goodbye, unless the run has failed. The chief waits for the others' goodbyes for a few seconds.
  virtual ~ControlPlane() = default;

  /// The cluster, including its absent tasks.
  virtual const ClusterSpec& cluster() const = 0;

  /// The generation of an elastic run's tasks, from 1.
  virtual int generation() const = 0;
  /// Whether the failure of another task ends only this generation rather than the run.
  virtual bool regroups() const = 0;
  /// Whether the task that failed is this one, in the eyes of the others: they could not hear it.
  virtual bool is_lost_itself() const = 0;
  /// Whether this task does not hear the chief: the chief is stopped, or the others continue without this task and may
  /// be generations ahead when it hears them again.
  virtual bool is_cut_off() const = 0;
  /// On the chief: the tasks that the next generation does not wait for.
  virtual std::vector<Task> lost() const = 0;
  /// On the chief: every loss of a task so far, those of earlier generations included.
  virtual std::vector<Loss> losses() const = 0;

  /// Stores a value for other tasks.
  virtual void put(const std::string& key, const std::string& value) = 0;
  /// Waits for a value. Throws Error if a task fails meanwhile.
  virtual std::string get(const std::string& key) = 0;
  /// All ranks of a group, each a task of its own, call it with the same key: returns their values, by rank. `values`:
  /// one for all ranks, or one for each of them. One message to the chief and one from it, however many ranks there
  /// are. Throws Error if a task fails meanwhile.
  virtual std::vector<std::string> gather(const std::string& key, int rank, int size,
                                          std::span<const std::string> values) = 0;

  /// Reports that this task has failed and ends with `exit_code`: every other task receives `reason` with this task's
  /// name.
  virtual void fail(const std::string& reason, int exit_code = 1) = 0;
  /// After an operation among tasks failed here: waits briefly for the chief's verdict on which task caused it, and
  /// returns that ("worker 2 (10.0.0.3:2222) ended unexpectedly in step 17, in bucket 1 of 3, ..."), or `error` if
  /// there is none. `unreached`: the tasks that are known not to reach this one, or not to be reached. Of tasks that do
  /// not reach each other an elastic run continues without those that fewer can reach.
  virtual std::string explain(const std::string& error, std::span<const Task> unreached = {}) = 0;
  /// Why the run has failed on another task; empty if it has not.
  virtual std::string failure() const = 0;
  /// The exit code of the failed task; 0 if it sent none.
  virtual int failed_exit_code() const = 0;
  /// Called once, on a thread of the control plane, when another task has failed; immediately if that has already
  /// happened. An empty one removes the last callback, which does not run once this returns.
  virtual void on_failure(std::function<void(const std::string& reason)> callback) = 0;

  /// For the others' messages if this task stalls or dies: its step, and what it waits for in it. Cheap.
  virtual void begin_step(std::int64_t step) = 0;
  virtual void begin_operation(std::string_view what) = 0;  ///< `what` outlives the control plane
  virtual void end_operation() = 0;

  /// After a step, on every task that runs the training loop: the signal that ends the run after exactly this step, the
  /// same on all of them, or 0. `own`: a signal received by this task, or 0. Other tasks call it with step 0 to pass on
  /// a signal.
  virtual int agree_to_stop(std::int64_t step, int own) = 0;
};

}  // namespace mirrortrain::rpc
