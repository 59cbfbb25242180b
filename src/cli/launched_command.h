#pragma once

#include <optional>
#include <string>
#include <vector>

#include "train/runs/launch_run.h"

namespace CLI {
class App;
}

namespace mirrortrain::cli {

/// The words of a command line, with the options of `launch` moved before a `--` and the launched command after it, if
/// there was none: `launch fit c.yaml --workers 2 --run-dir r` becomes `launch --workers 2 -- fit c.yaml --run-dir r`.
std::vector<std::string> launched_apart(const CLI::App& app, const std::vector<std::string>& words);

/// Parses the command line after `--` like the program itself, without running anything. Returns nothing, and sets the
/// exit code, if it is invalid (the error has been reported) or requests help (which has been printed).
std::optional<LaunchedCommand> read_launched_command(const std::vector<std::string>& words, int& exit_code);

}  // namespace mirrortrain::cli
