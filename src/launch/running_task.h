#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cluster/cluster_spec.h"
#include "launch/failure.h"
#include "launch/process.h"
#include "launch/task_lines.h"

namespace mirrortrain::launch {

/// A task to run.
struct TaskCommand {
  Task task;
  std::string host;  ///< empty: this machine
  ProcessOptions process;
  bool may_leave = false;  ///< the run continues without it

  /// Whether the run goes on as long as this task does.
  bool keeps_the_run() const { return task.job != Job::kPs && !may_leave; }
  /// Whether it may still run when the run is over; an evaluator has its last checkpoint to evaluate then.
  bool is_waited_for() const { return keeps_the_run() || task.job == Job::kEvaluator; }
};

/// A task that has been started: its process, and what that writes.
class RunningTask {
 public:
  /// Throws Error where it cannot be started. `number` sets its colour apart from other tasks'.
  RunningTask(const TaskCommand& command, int number, const Outputs& outputs)
      : command_(command), number_(number), process_(command.process), lines_(command.task.text(), number, outputs) {}

  const TaskCommand& command() const { return command_; }
  int number() const { return number_; }
  std::string name() const {
    return command_.host.empty() ? command_.task.text() : command_.task.text() + " on " + command_.host;
  }
  bool has_ended() const { return has_ended_; }
  void signal(int number) const { process_.signal(number); }

  /// Where it writes; -1 once that has ended.
  int out() const { return process_.out.get(); }
  int err() const { return process_.err.get(); }
  /// When it wrote last, or was started.
  std::chrono::steady_clock::time_point wrote() const { return wrote_; }
  /// Takes some of what is there to be read; false where there is nothing.
  bool read_out();
  bool read_err();
  /// The status (as waitpid's) once it has ended; all it has written has been taken then.
  std::optional<int> take_status();
  /// How it failed, which it did with this status.
  Failure failure(int status) const;

 private:
  const TaskCommand command_;
  const int number_;
  Process process_;
  TaskLines lines_;
  std::chrono::steady_clock::time_point wrote_ = std::chrono::steady_clock::now();
  bool has_ended_ = false;
};

}  // namespace mirrortrain::launch
