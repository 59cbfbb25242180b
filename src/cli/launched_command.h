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

/// What stands after `--` in `launch`: a command line of fit or eval.
struct LaunchedCommand {
  std::vector<std::string> words;  ///< as given
  bool is_fit = false;
  std::string config;  ///< a file, or eval's run folder
  std::vector<std::string> overrides;
  std::optional<std::string> run_dir;
  bool resumes = false;
};

/// The words of a command line, with those of `launch` before a `--` and what it launches behind it, where there was
/// none: `launch fit c.yaml --workers 2 --run-dir r` is `launch --workers 2 -- fit c.yaml --run-dir r`.
std::vector<std::string> launched_apart(const CLI::App& app, const std::vector<std::string>& words);

/// Reads it as the program itself does; nothing of it runs. Returns nothing, and sets the exit code, where it is not
/// one (which has been reported), or asks for help (which has been printed).
std::optional<LaunchedCommand> read_launched_command(const std::vector<std::string>& words, int& exit_code);

/// What the tasks will need to know of the configuration.
struct LaunchedRun {
  std::string name;                ///< of the configuration
  bool is_secured = false;         ///< peers have to show a token or a certificate
  bool workers_may_leave = false;  ///< and come back, while the others continue
};

/// Checks the configuration once for all tasks: as each of them does, and that its strategy is one of several
/// processes, with parameter servers or without. Throws UsageError.
LaunchedRun check_launched_command(const LaunchedCommand& command, const ClusterSpec& cluster);

}  // namespace mirrortrain::cli
