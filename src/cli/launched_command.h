#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/cluster_spec.h"
#include "strategy/strategy_options.h"

namespace CLI {
class App;
}

namespace mirrortrain::cli {

/// The command line of fit or eval after `--` in `launch`.
struct LaunchedCommand {
  std::vector<std::string> words;  ///< as given
  bool is_fit = false;
  std::string config;  ///< a file, or eval's run folder
  std::vector<std::string> overrides;
  std::optional<std::string> run_dir;
  bool resumes = false;
};

/// The words of a command line, with the options of `launch` moved before a `--` and the launched command after it, if
/// there was none: `launch fit c.yaml --workers 2 --run-dir r` becomes `launch --workers 2 -- fit c.yaml --run-dir r`.
std::vector<std::string> launched_apart(const CLI::App& app, const std::vector<std::string>& words);

/// Parses it like the program itself, without running anything. Returns nothing, and sets the exit code, if it is
/// invalid (the error has been reported) or requests help (which has been printed).
std::optional<LaunchedCommand> read_launched_command(const std::vector<std::string>& words, int& exit_code);

/// Properties of the configuration that the tasks need.
struct LaunchedRun {
  std::string name;                ///< of the configuration
  bool is_secured = false;         ///< peers must authenticate by a token or a certificate
  bool workers_may_leave = false;  ///< and come back, while the others continue
};

/// Checks the configuration once for all tasks: the checks of each task, and that its strategy runs in several
/// processes, with parameter servers or without. Throws UsageError.
LaunchedRun check_launched_command(const LaunchedCommand& command, const ClusterSpec& cluster);

}  // namespace mirrortrain::cli
