#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "train/checkpoint/run_folder.h"

namespace mirrortrain {

/// The runs in runs/ with a configuration's name: NAME, NAME-2, ...: the most recently started or resumed comes first.
std::vector<RunFolder> runs_of(const std::string& name);
/// The first of them.
std::optional<RunFolder> newest_run(const std::string& name);

/// Whether an entry of a folder is a link to another entry of it, as a study's `best` is: the same run once more.
bool is_link_beside(const std::filesystem::directory_entry& entry);

/// The meaning of RUN on a command line.
struct NamedRun {
  RunFolder folder;
  std::optional<std::filesystem::path> checkpoint{};  ///< its folder, if RUN names one
  std::vector<RunFolder> older{};                     ///< other runs of the same name, if RUN is a name
};

/// RUN is a run's folder, its name in runs/, or a checkpoint: its folder, RUN/step-000500, or only step-000500 if one
/// run has it. A configuration's name means its newest run, whichever of NAME, NAME-2, ... that is; NAME-2 means that
/// run. nullopt if it is none of these.
std::optional<NamedRun> find_run(const std::string& run);
/// The error for a run without such a checkpoint, listing those that it has.
std::string no_checkpoint_text(const RunFolder& run, const std::string& name);
/// The runs of a study's trial with folds, fold-1, fold-2, ...; RUN is its folder, `best` also, or that in runs/. Empty
/// if it is something else.
std::vector<NamedRun> runs_of_folds(const std::string& run);
/// Like find_run, but logs which of several runs of a name it is, and throws UsageError if there is none, beginning
/// with `what` and suggesting a run; also for a trial with folds, which has a model for each.
NamedRun require_run(const std::string& run, const std::string& what);
/// Like require_run; if RUN is a folder of runs, like a sweep's or a study's, returns all of them, sorted by name.
std::vector<NamedRun> require_runs(const std::string& run, const std::string& what);

/// The meaning of RUN_OR_CONFIG: a configuration file, or a run with its own.
struct ConfigurationOrRun {
  std::string file;
  std::optional<NamedRun> run;
};
/// Throws UsageError if it is neither.
ConfigurationOrRun configuration_or_run(const std::string& text);

}  // namespace mirrortrain
