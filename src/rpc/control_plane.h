#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/cluster_spec.h"
#include "rpc/security.h"

namespace grpc {
class Service;
}

namespace mirrortrain::rpc {

/// What a task sends when it joins.
struct Handshake {
  std::string version;
  /// Every resolved key that must be the same on all tasks, with its value, in the configuration's order.
  std::vector<std::pair<std::string, std::string>> configuration;
};

/// What an elastic run passes from one generation of its tasks to the next. A generation trains in step; it ends when a
/// task is lost, or when one that was comes back.
struct Generation {
  int number = 1;
  // Of the chief alone.
  std::vector<Task> lost = {};  ///< whom not to wait for
  std::string give_up = {};     ///< why this generation ends the run instead of training
};

/// The signal at which a generation stops so that a task that came back can take part.
inline constexpr int kRegroup = -1;

/// How long tasks wait for each other.
struct Timeouts {
  double join_seconds = 600;  ///< until every task has come; 0: no limit
  /// A task that has not been heard from for so long has failed; 0: none has. Heartbeats go once a second.
  double silence_seconds = 60;
  /// Jobs whose tasks may die and come back while the run continues.
  std::vector<Job> may_leave = {};
  /// The run continues without a task that is lost, except the chief.
  bool elastic = false;
  /// In later generations, until the tasks that were not lost have come; who has not is lost too. The chief has
  /// silence_seconds and a few more to answer.
  double regroup_seconds = 30;
  /// On the chief: called where a task of these jobs has not been heard from for so long. Must not use the control
  /// plane.
  std::function<void(const Task& task, const std::string& reason)> on_silence = {};
};

/// What the tasks of a cluster know of each other beside the numbers they train on: who is there, what the chief has
/// decided, who has failed. The chief keeps it, the others have a connection to the chief. All functions may be called
/// on any thread.
class ControlPlane {
 public:
  /// Starts this task's server where it is the chief or has `services` (which must outlive the control plane), at its
  /// address of the cluster, and returns when every task of the cluster has joined. Throws UsageError where another
  /// task has another version or configuration (the first key that differs is named), Error where tasks are missing
  /// for too long, the address cannot be used, or another task has failed.
  static std::unique_ptr<ControlPlane> join(const ClusterSpec& cluster, const Security& security,
                                            const Handshake& handshake, const Timeouts& timeouts,
                                            std::span<grpc::Service* const> services = {},
                                            const Generation& generation = {});
  /// Says goodbye, unless the run has failed. The chief waits for the others' goodbyes for a few seconds.
  virtual ~ControlPlane() = default;

  /// With the tasks that are absent.
  virtual const ClusterSpec& cluster() const = 0;

  /// Of an elastic run: which generation of its tasks this is, from 1.
  virtual int generation() const = 0;
  /// Whether the failure, of another task, ends this generation alone.
  virtual bool regroups() const = 0;
  /// On the chief: the tasks that are not to be waited for in the next generation.
  virtual std::vector<Task> lost() const = 0;

  /// Leaves a value for other tasks.
  virtual void put(const std::string& key, const std::string& value) = 0;
  /// Waits for a value. Throws Error where a task fails meanwhile.
  virtual std::string get(const std::string& key) = 0;

  /// This task has failed, and ends with `exit_code`: every other learns `reason` with this task's name.
  virtual void fail(const std::string& reason, int exit_code = 1) = 0;
  /// An operation among tasks failed here: waits a moment for the chief's word on which task is to blame, and returns
  /// it
  /// ("worker 2 (10.0.0.3:2222) ended unexpectedly in step 17, in bucket 1 of 3, ..."), or `error` where there is none.
  virtual std::string explain(const std::string& error) = 0;
  /// Why the run has failed on another task; empty while it has not.
  virtual std::string failure() const = 0;
  /// The exit code of the task that has failed; 0 where it sent none.
  virtual int failed_exit_code() const = 0;
  /// Called once, on a thread of the control plane, when another task has failed; at once where that was before. An
  /// empty one takes the last back: it does not run once this returns.
  virtual void on_failure(std::function<void(const std::string& reason)> callback) = 0;

  /// For the others' messages, should this task stall or die: which step it is in, and what it waits for in it. Cheap.
  virtual void begin_step(std::int64_t step) = 0;
  virtual void begin_operation(std::string_view what) = 0;  ///< `what` outlives the control plane
  virtual void end_operation() = 0;

  /// After a step, on every task that runs the training loop: the signal at which the run is to end after this very
  /// step, the same on all of them, or 0. `own`: a signal that came to this task, or 0. Other tasks call it, with step
  /// 0, to pass on a signal.
  virtual int agree_to_stop(std::int64_t step, int own) = 0;
};

}  // namespace mirrortrain::rpc
