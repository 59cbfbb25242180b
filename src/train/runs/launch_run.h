#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launch/launch_plan.h"
#include "launch/supervisor.h"

namespace mirrortrain {

/// The command line of fit, eval or predict after `--` in `launch`.
struct LaunchedCommand {
  std::vector<std::string> words;  ///< as given
  bool is_fit = false;
  std::string config;  ///< a file, or the run folder of eval and predict
  std::vector<std::string> overrides;
  std::optional<std::string> run_dir;
  bool resumes = false;
};

/// How `launch` starts the tasks of a cluster.
struct RunLaunch {
  launch::LaunchOptions tasks;
  launch::Timeouts timeouts;
  int restarts = 0;     ///< how often tasks are started again when one fails
  bool prints = false;  ///< each task's command line instead of starting it
};

/// Checks the command's configuration once for all tasks, starts them, and restarts them as `launch.restarts` says:
/// all, resuming the run, or a worker that the others continue without. Returns the exit code. Throws UsageError and
/// Error.
int launch_run(const RunLaunch& launch, LaunchedCommand command);

}  // namespace mirrortrain
