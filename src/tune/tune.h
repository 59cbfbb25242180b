#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

namespace mirrortrain::tune {

/// Arguments of `tune`.
struct TuneArguments {
  std::string config;
  std::vector<std::string> overrides;
  std::optional<std::string> run_dir;  ///< the study's folder; none: runs/NAME-study
  std::optional<std::string> json;     ///< a file for the trials, or "-" for stdout instead of the table
  /// As FitArguments::catch_stop_signals, but without a message on the terminal.
  const std::atomic<int>& (*catch_stop_signals)() = nullptr;
};

/// Begins a study or continues the one in its folder: trains its trials, and prints their table. Returns the exit code:
/// 0 if a trial is done, 1 if all failed; of a study that was stopped that of a run (exit_code_of). Throws UsageError
/// and Error.
int tune(const TuneArguments& arguments);

}  // namespace mirrortrain::tune
