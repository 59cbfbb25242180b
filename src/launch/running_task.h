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

  /// Whether the run continues as long as this task does.
  bool keeps_the_run() const { return task.job != Job::kPs && !may_leave; }
  /// Whether the launcher waits for it when the run is over; an evaluator still evaluates the last checkpoint then.
  bool is_waited_for() const { return keeps_the_run() || task.job == Job::kEvaluator; }
};

/// A started task: its process and the process's output.
class RunningTask {
 public:
  /// Throws Error if it cannot be started. `number` selects its colour.
  RunningTask(const TaskCommand& command, int number, const Outputs& outputs)
      : command_(command), number_(number), process_(command.process), lines_(command.task.text(), number, outputs) {}

  const TaskCommand& command() const { return command_; }
  int number() const { return number_; }
  std::string name() const {
    return command_.host.empty() ? command_.task.text() : command_.task.text() + " on " + command_.host;
  }
  bool has_ended() const { return has_ended_; }
  void signal(int number) const { process_.signal(number); }

  /// The read end of its stdout; -1 once that has ended.
  int out() const { return process_.out.get(); }
  int err() const { return process_.err.get(); }
  /// The time of its last output, or of its start.
  std::chrono::steady_clock::time_point wrote() const { return wrote_; }
  /// Reads some of the available output; returns false if there is none.
  bool read_out();
  bool read_err();
  /// The status (as waitpid's) once it has ended; all its output has then been read.
  std::optional<int> take_status();
  /// The failure, given its status.
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
