#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "train/checkpoint/run_lock.h"

namespace mirrortrain {

/// A run's files; their names are part of the interface: config.yaml, metrics.jsonl, summary.json, model.safetensors,
/// checkpoints/, run.log.
struct RunFolder {
  std::filesystem::path path;

  std::filesystem::path config() const { return path / "config.yaml"; }
  std::filesystem::path metrics() const { return path / "metrics.jsonl"; }
  /// With logging.csv.
  std::filesystem::path epochs() const { return path / "epochs.csv"; }
  /// Of an evaluator task.
  std::filesystem::path evaluations() const { return path / "evaluations.jsonl"; }
  std::filesystem::path summary() const { return path / "summary.json"; }
  std::filesystem::path model() const { return path / "model.safetensors"; }
  std::filesystem::path checkpoints() const { return path / "checkpoints"; }
  /// Values adapted to the training data; does not exist if there are none.
  std::filesystem::path classes() const { return path / "classes.json"; }
  std::filesystem::path preprocessing() const { return path / "preprocessing.json"; }
  std::filesystem::path log() const { return path / "run.log"; }
  std::filesystem::path report() const { return path / "report.html"; }
  /// Output of `eval --json`, if it was saved here.
  std::filesystem::path evaluation() const { return path / "eval.json"; }

  /// Whether the folder holds a run, rather than only a user's config.yaml.
  bool exists() const;
};

/// First line of a run's config.yaml.
inline constexpr std::string_view kRunMark = "# Train it again: mirrortrain fit ";

/// Describes a file by its run if others depend on its contents: "metrics.jsonl of the run runs/a". "" for other files,
/// and for reports and the output of `eval --json`. Follows links, and accepts names that do not exist.
std::string own_file_of_run(const std::filesystem::path& file);

/// Throws UsageError if the name of one of the run's files is a pipe, a device or a folder: opening it might block
/// indefinitely.
void require_files(const RunFolder& folder);

/// Adds the run's log file, with timestamps, to the log's outputs.
void log_to_file(const std::filesystem::path& file);
/// Logs an error that is shown elsewhere only to the file.
void log_to_file_alone(const std::string& error);

/// Whether the console shows only warnings, errors and results.
bool is_quiet();

/// Throws UsageError if the folder of --run-dir is not empty.
void require_free(const std::filesystem::path& run_dir);

/// Creates the folder of a new run and locks it: `run_dir` itself, for which require_free has been called and is called
/// again under the lock, or the first of runs/NAME, runs/NAME-2, ... that is free. Two processes never get the same.
RunFolder create_run_folder(const std::string& name, const std::optional<std::filesystem::path>& run_dir,
                            RunLock& lock);

/// The folder in runs/ that a new run would get now.
RunFolder next_run_folder(const std::string& name);

/// Removes files whose writing was interrupted by the program's end. The folder must be locked.
void remove_temporary_files(const RunFolder& folder);

/// The last part of the folder's path.
std::string name_of(const RunFolder& folder);

}  // namespace mirrortrain
