#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mirrortrain {

/// The word for FitArguments::resumes_if_any; a run of this name is resumed by its folder, as runs/auto.
inline constexpr std::string_view kResumeIfAny = "auto";

/// Arguments of `fit`.
struct FitArguments {
  std::string config;
  std::vector<std::string> overrides;
  std::optional<std::string> run_dir;
  std::optional<std::string> resume;  ///< empty: the run is found by the configuration's name
  bool resumes_if_any = false;        ///< on the chief, `resume` is what find_run_to_resume finds; elsewhere it is none
  bool dry_run = false;
  bool profile = false;
  bool profile_by_time = false;             ///< the slowest layers and actions first
  std::optional<std::string> profile_json;  ///< a file, or "-" for stdout instead of the table
  /// After this call, SIGINT, SIGTERM and SIGHUP set the returned number; called when only steps are left to do.
  const std::atomic<int>& (*catch_stop_signals)() = nullptr;
  /// From when training.time_limit counts.
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
};

/// `fit`: one run, or, with strategy.elastic, a sequence of generations of tasks, each of which resumes from its
/// predecessor. Returns the exit code. Throws the same as FitRun::run.
int fit(FitArguments arguments);

}  // namespace mirrortrain
