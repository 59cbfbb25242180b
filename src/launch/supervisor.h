#pragma once

#include <optional>
#include <vector>

#include "launch/failure.h"
#include "launch/running_task.h"
#include "launch/signal_queue.h"
#include "launch/task_lines.h"

namespace mirrortrain::launch {

struct Timeouts {
  double grace_seconds = 10;  ///< for tasks to end by themselves once one has failed, before SIGTERM
  double kill_seconds = 5;    ///< from SIGTERM to SIGKILL; after a signal that stops the run both pass before SIGKILL
  int restarts = 0;           ///< of failed tasks that may leave
  double after_sigterm = 0;   ///< seconds that tasks continue after SIGTERM, beside those above
  int sigterm_code = 143;     ///< exit code of tasks that SIGTERM has stopped
};

struct Outcome {
  int exit_code = 0;  ///< for the launcher: that of the first failure or of tasks that a signal has stopped; or 0
  std::optional<Failure> first_failure;
  int stop_signal = 0;  ///< received by the launcher, or 0
  int restarts = 0;     ///< of tasks that may leave
};

/// Starts the tasks and forwards their output until all have ended; returns when all of it is written. When a task
/// fails, the others have some time to end by themselves and are then ended. A failed task that may leave is restarted
/// instead, or its failure is reported and the others continue, as also when the run is over; if it reports that the
/// chief is silent, and the launcher receives no output from the chief either, the run has failed. The first to fail is
/// the task whose failure ended the others, according to their last lines, even if they end before it. Parameter
/// servers, and tasks that may leave, that do not end once all others have are stopped in the same way, which is not a
/// failure. SIGINT and SIGTERM are sent to all tasks (SIGHUP as SIGTERM), and tasks that have not ended after both
/// times are killed; a second signal kills all at once. Throws Error if a task cannot be started.
Outcome supervise(const std::vector<TaskCommand>& tasks, const Timeouts& timeouts, SignalQueue& signals,
                  const Outputs& outputs);

}  // namespace mirrortrain::launch
