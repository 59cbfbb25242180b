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

/// A run's data in a table.
struct RunRow {
  std::string name;     ///< of its folder, relative to the one that is listed
  std::string started;  ///< "2026-01-31 12:00:00", empty if unknown
  std::string status;   ///< done, stopped or failed; "unfinished" while it runs or after it was killed
  std::int64_t steps = 0;
  std::string metric;                ///< of validation: the requested one, else the first, else loss
  std::set<std::string> validated;   ///< the names of validation's figures: loss and metrics
  std::optional<double> last, best;  ///< absent without validation
  double examples_per_second = 0;    ///< of the last step event
  double seconds = 0;                ///< that it computed up to then
  /// The values of its configuration that differ between the listed runs, by key.
  std::vector<std::pair<std::string, std::string>> differs;
};

/// The start time of a run, from its log: "2026-01-31 12:00:00"; empty if unknown.
std::string start_of(const RunFolder& run);

/// The runs in a folder, and in subfolders that are not runs (sweeps), by name. `metric`: of validation.
std::vector<RunRow> list_runs(const std::filesystem::path& folder, const std::optional<std::string>& metric);

enum class RunColumn : std::uint8_t { kName, kStarted, kStatus, kSteps, kLast, kBest, kExamplesPerSecond };
/// Metrics from best to worst, speed from the fastest, other columns ascending. Runs without a value come last.
void sort_runs(std::vector<RunRow>& runs, RunColumn column);

/// No line wider than `width`; 0: no limit.
std::string run_table(const std::vector<RunRow>& runs, std::size_t width);
std::string run_table_json(const std::vector<RunRow>& runs);

}  // namespace mirrortrain
