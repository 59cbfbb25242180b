#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "train/checkpoint/run_lock.h"

namespace mirrortrain {

/// A run's files, by their names in interface order: config.yaml, metrics.jsonl, summary.json, model.safetensors,
/// checkpoints/, run.log.
struct RunFolder {
  std::filesystem::path path;

  std::filesystem::path config() const { return path / "config.yaml"; }
  std::filesystem::path metrics() const { return path / "metrics.jsonl"; }
  /// Of an evaluator task.
  std::filesystem::path evaluations() const { return path / "evaluations.jsonl"; }
  std::filesystem::path summary() const { return path / "summary.json"; }
  std::filesystem::path model() const { return path / "model.safetensors"; }
  std::filesystem::path checkpoints() const { return path / "checkpoints"; }
  /// What was learnt from the training data; absent where there is nothing.
  std::filesystem::path classes() const { return path / "classes.json"; }
  std::filesystem::path preprocessing() const { return path / "preprocessing.json"; }
  std::filesystem::path log() const { return path / "run.log"; }
  std::filesystem::path report() const { return path / "report.html"; }
  /// What `eval --json` wrote, where somebody put it here.
  std::filesystem::path evaluation() const { return path / "eval.json"; }

  /// Whether the folder holds a run, rather than somebody's own config.yaml.
  bool exists() const;
};

/// How the config.yaml of a run begins.
inline constexpr std::string_view kRunMark = "# Train it again: mirrortrain fit ";

/// What a file is to the run that it belongs to, where others depend on what it holds: "metrics.jsonl of the run
/// runs/a". "" for other files, and for reports and what `eval --json` leaves there. Through links, and for names that
/// do not exist.
std::string own_file_of_run(const std::filesystem::path& file);

/// Throws UsageError, naming it, where the name of a file of the run is that of a pipe, a device or a folder: opening
/// it might wait indefinitely.
void require_files(const RunFolder& folder);

/// From now on everything that is logged goes to the run's log file too, with the time.
void log_to_file(const std::filesystem::path& file);
/// An error that is shown elsewhere.
void log_to_file_alone(const std::string& error);

/// Whether the console is to show warnings, errors and results alone.
bool is_quiet();

/// Throws a UsageError where the folder of --run-dir holds anything.
void require_free(const std::filesystem::path& run_dir);

/// Creates the folder of a new run and locks it: `run_dir` itself, which must not hold anything yet (UsageError), or
/// runs/NAME, runs/NAME-2, ... the first that is free. Two processes never get the same.
RunFolder create_run_folder(const std::string& name, const std::optional<std::filesystem::path>& run_dir,
                            RunLock& lock);

/// The one in runs/ that a new run would get now.
RunFolder next_run_folder(const std::string& name);

/// Removes files whose writing ended with the program. While the folder is locked.
void remove_temporary_files(const RunFolder& folder);

/// The last part of the folder's path.
std::string name_of(const RunFolder& folder);

/// The runs of a configuration's name in runs/, in NAME, NAME-2, ...: the one that was started or resumed last goes
/// first.
std::vector<RunFolder> runs_of(const std::string& name);
/// The first of them.
std::optional<RunFolder> newest_run(const std::string& name);

/// What RUN on a command line means.
struct NamedRun {
  RunFolder folder;
  std::optional<std::filesystem::path> checkpoint{};  ///< its folder, where RUN names one
  std::vector<RunFolder> older{};                     ///< other runs of the same name, where RUN is a name
};

/// RUN is a run's folder, its name in runs/, or a checkpoint: its folder, RUN/step-000500, or step-000500 alone where
/// one run has it. A configuration's name means its newest run, whichever of NAME, NAME-2, ... that is; NAME-2 is that
/// one. nullopt where it is none of these.
std::optional<NamedRun> find_run(const std::string& run);
/// Why there is no such checkpoint in the run, with those that it has.
std::string no_checkpoint_text(const RunFolder& run, const std::string& name);
/// As find_run, and logs which of several runs of a name it is; throws UsageError, which begins with `what` and
/// suggests a run, where there is none.
NamedRun require_run(const std::string& run, const std::string& what);
/// As require_run; where RUN is a folder of runs, as a sweep's, all of them, in the order of their names.
std::vector<NamedRun> require_runs(const std::string& run, const std::string& what);

}  // namespace mirrortrain
