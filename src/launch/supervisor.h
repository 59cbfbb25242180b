#pragma once

#include <optional>
#include <vector>

#include "launch/failure.h"
#include "launch/running_task.h"
#include "launch/signal_queue.h"
#include "launch/task_lines.h"

namespace mirrortrain::launch {

struct Timeouts {
  double grace_seconds = 10;  ///< in which tasks end by themselves once one has failed, before SIGTERM
  double kill_seconds = 5;    ///< from SIGTERM to SIGKILL; after a signal that stops the run both pass before SIGKILL
  int restarts = 0;           ///< of tasks that may leave, and failed
};

struct Outcome {
  int exit_code = 0;  ///< for the launcher: that of the first failure; 128 + the signal that stopped the run; or 0
  std::optional<Failure> first_failure;
  int stop_signal = 0;  ///< that came to the launcher, or 0
  int restarts = 0;     ///< of tasks that may leave
};

/// Starts the tasks and passes on what they write until all have ended; returns when all of it is written. When one
/// fails, the others may end by themselves for a while; then they are made to. One that may leave is started again
/// instead, or its failure is reported and the others continue, as it is where the run is over; where it says that the
/// chief is silent, and the launcher hears nothing from the chief either, that is a failure of the run. The first to
/// fail is the task whose failure ended the others, as their last lines say, though they may end before it. Parameter
/// servers, and tasks that may leave, that do not end once all others have are stopped likewise, which is no failure.
/// SIGINT and SIGTERM go to all tasks (SIGHUP as SIGTERM), and who has not ended after both times is
/// killed; a second signal kills all at once. Throws Error where a task cannot be started.
Outcome supervise(const std::vector<TaskCommand>& tasks, const Timeouts& timeouts, SignalQueue& signals,
                  const Outputs& outputs);

}  // namespace mirrortrain::launch
