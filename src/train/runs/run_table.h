#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "train/checkpoint/run_folder.h"

namespace mirrortrain {

/// What a run's folder says about it.
struct RunRow {
  std::string name;     ///< of its folder, below the one that is listed
  std::string started;  ///< "2026-01-31 12:00:00", empty where it is not known
  std::string status;   ///< done, stopped or failed; "unfinished" while it runs, and after it was killed
  std::int64_t steps = 0;
  std::string metric;                ///< of validation: the one asked for, else the first, else loss
  std::set<std::string> validated;   ///< what validation gave: loss and metrics
  std::optional<double> last, best;  ///< absent where nothing was validated
  double examples_per_second = 0;    ///< of the last step event
  /// The values of its configuration in which the listed runs differ, by key.
  std::vector<std::pair<std::string, std::string>> differs;
};

/// When a run was begun, by its log: "2026-01-31 12:00:00"; empty where that is not known.
std::string start_of(const RunFolder& run);

/// The runs in a folder, and in folders of it that are none themselves (sweeps), by name. `metric`: of validation.
std::vector<RunRow> list_runs(const std::filesystem::path& folder, const std::optional<std::string>& metric);

enum class RunColumn : std::uint8_t { kName, kStarted, kStatus, kSteps, kLast, kBest, kExamplesPerSecond };
/// Metrics from the best to the worst, speed from the fastest, the others ascending. Runs without a value come last.
void sort_runs(std::vector<RunRow>& runs, RunColumn column);

/// No line wider than `width`; 0: no limit.
std::string run_table(const std::vector<RunRow>& runs, std::size_t width);
std::string run_table_json(const std::vector<RunRow>& runs);

}  // namespace mirrortrain
