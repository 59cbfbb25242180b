#include "train/checkpoint/named_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "config/document.h"
#include "config/scalar.h"
#include "launch/shell.h"
#include "train/checkpoint/checkpoint_folder.h"

namespace mirrortrain {
namespace {

namespace fs = std::filesystem;

/// The runs in a folder, sorted by name.
std::vector<RunFolder> all_runs(const fs::path& folder = "runs") {
  std::vector<RunFolder> runs;
  std::error_code missing;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, missing)) {
    if (!is_link_beside(entry) && RunFolder{entry.path()}.exists()) runs.push_back({entry.path()});
  }
  std::ranges::sort(runs, {}, [](const RunFolder& run) { return run.path; });
  return runs;
}

bool holds_checkpoint(const fs::path& folder) { return fs::exists(folder / "state.json"); }

/// runs/a/ as runs/a.
fs::path without_last_slash(const fs::path& path) { return path.has_filename() ? path : path.parent_path(); }

std::optional<NamedRun> run_at(const fs::path& path) {
  if (RunFolder{path}.exists()) return NamedRun{{path}};
  const fs::path run = path.parent_path();
  for (const fs::path& checkpoint : {path, run / "checkpoints" / path.filename()}) {
    if (!holds_checkpoint(checkpoint)) continue;
    return NamedRun{{checkpoint.parent_path().parent_path()}, checkpoint};
  }
  return std::nullopt;
}

/// The name in the run's configuration; the folder's name if it cannot be read.
std::string configured_name(const RunFolder& run) {
  try {
    config::Errors ignored;
    const config::Document document = config::load(run.config().string(), {}, ignored);
    const config::Value::Entry* const name = document.root.is_mapping() ? document.root.find("name") : nullptr;
    if (name != nullptr && name->value.is_scalar()) return name->value.text();
  } catch (const Error&) {  // it is damaged, or being written
  }
  return name_of(run);
}

/// The run of a name, or of a name followed by a checkpoint.
std::optional<NamedRun> run_named(const fs::path& path) {
  const std::string name = path.begin()->string();
  const RunFolder own{fs::path("runs") / name};
  const bool is_numbered = own.exists() && configured_name(own) != name;  // NAME-2
  std::vector<RunFolder> runs = is_numbered ? std::vector{own} : runs_of(name);
  if (runs.empty()) return std::nullopt;
  NamedRun named{runs.front(), std::nullopt, {runs.begin() + 1, runs.end()}};
  const fs::path behind = path.lexically_relative(name);
  if (behind == ".") return named;
  for (const fs::path& above : {named.folder.path, named.folder.checkpoints()}) {
    if (!holds_checkpoint(above / behind)) continue;
    named.checkpoint = above / behind;
    return named;
  }
  return std::nullopt;
}

/// Of a trial's run, from 1, by its name, fold-2; 0 for other names.
int fold_of(const RunFolder& run) {
  constexpr std::string_view kFold = "fold-";
  const std::string name = name_of(run);
  int fold = 0;
  if (!name.starts_with(kFold)) return 0;
  const auto [end, error] = std::from_chars(name.data() + kFold.size(), name.data() + name.size(), fold);
  return error == std::errc() && end == name.data() + name.size() && fold > 0 ? fold : 0;
}

/// Null if one of the keys, each in the value of the one before it, does not exist.
const config::Value* value_at(const config::Value& root, std::initializer_list<std::string_view> keys) {
  const config::Value* at = &root;
  for (const std::string_view key : keys) {
    const config::Value::Entry* const entry = at->is_mapping() ? at->find(key) : nullptr;
    if (entry == nullptr) return nullptr;
    at = &entry->value;
  }
  return at;
}

/// The settings with which a run of a fold is trained on all of the training data: none of it is left to validate on,
/// and so for what watches a score of it.
std::string settings_without_validation(const RunFolder& fold) {
  std::string settings = "--set data.validation=null";
  config::Errors ignored;
  const config::Document document = config::load(fold.config().string(), {}, ignored);
  const config::Value* const callbacks = value_at(document.root, {"callbacks"});
  if (callbacks != nullptr && callbacks->is_sequence() && !callbacks->items().empty()) {
    settings += " --set 'callbacks=[]'";
  }
  const config::Value* const best = value_at(document.root, {"checkpoint", "save_best"});
  if (best != nullptr && !best->is_null()) settings += " --set checkpoint.save_best=null";
  return settings;
}

void report_choice(const std::string& text, const NamedRun& run) {
  if (run.older.empty()) return;
  constexpr std::size_t kShown = 3;
  std::vector<std::string> older;
  for (const RunFolder& one : run.older) older.push_back(one.path.string());
  const std::size_t more = older.size() - std::min(older.size(), kShown);
  older.resize(older.size() - more);
  spdlog::info("{}: {}, the newest of the {} runs of this name; a folder names another: {}{}", text,
               run.folder.path.string(), run.older.size() + 1, fmt::join(older, ", "),
               more > 0 ? fmt::format(" and {} more", more) : "");
}

}  // namespace

bool is_link_beside(const fs::directory_entry& entry) {
  std::error_code none;
  return entry.is_symlink(none) && !fs::read_symlink(entry.path(), none).has_parent_path();
}

std::vector<RunFolder> runs_of(const std::string& name) {
  const auto is_of_name = [&](const std::string& folder) {
    return folder == name || (folder.starts_with(name + "-") && folder.size() > name.size() + 1 &&
                              folder.find_first_not_of("0123456789", name.size() + 1) == std::string::npos);
  };
  std::vector<std::pair<fs::file_time_type, RunFolder>> found;
  for (const RunFolder& run : all_runs()) {
    if (is_of_name(name_of(run)) && configured_name(run) == name) {
      found.emplace_back(fs::last_write_time(run.config()), run);
    }
  }
  std::ranges::stable_sort(found, std::greater(), [](const auto& one) { return one.first; });
  std::vector<RunFolder> runs;
  for (auto& [time, run] : found) runs.push_back(std::move(run));
  return runs;
}

std::optional<RunFolder> newest_run(const std::string& name) {
  const std::vector<RunFolder> runs = runs_of(name);
  return runs.empty() ? std::nullopt : std::optional(runs.front());
}

std::optional<NamedRun> find_run(const std::string& text) {
  const fs::path path = without_last_slash(text);
  if (path.empty()) return std::nullopt;
  if (auto run = run_at(path)) return run;
  if (path.is_absolute()) return std::nullopt;
  if (auto run = run_named(path)) return run;
  const bool is_below_run = RunFolder{"runs" / *path.begin()}.exists();  // else below a sweep's folder
  if (auto run = is_below_run ? std::nullopt : run_at("runs" / path)) return run;
  std::optional<NamedRun> found;
  for (const RunFolder& run : all_runs()) {
    const fs::path checkpoint = run.checkpoints() / path;
    if (path.has_parent_path() || !holds_checkpoint(checkpoint)) continue;
    if (found) {
      throw UsageError(fmt::format("{0}: several runs have a checkpoint {0}; name one, as {1}/{0}", text,
                                   run.path.filename().string()));
    }
    found = NamedRun{run, checkpoint};
  }
  return found;
}

std::string no_checkpoint_text(const RunFolder& run, const std::string& name) {
  std::vector<std::string> names;
  for (const fs::path& checkpoint : checkpoints_in(run.checkpoints())) names.push_back(checkpoint.filename().string());
  if (holds_checkpoint(run.checkpoints() / kBestCheckpoint)) names.emplace_back(kBestCheckpoint);
  return fmt::format("{} has no checkpoint {}{}", run.path.string(), shortened(name, 200),
                     names.empty() ? "; it has none yet" : fmt::format("; it has {}", fmt::join(names, ", ")));
}

std::vector<NamedRun> runs_of_folds(const std::string& text) {
  std::vector<NamedRun> runs;
  if (text.empty()) return runs;
  const fs::path path = without_last_slash(text);
  for (const fs::path& trial : {path, "runs" / path}) {
    for (const RunFolder& run : all_runs(trial)) {
      if (fold_of(run) > 0) runs.push_back({run});
    }
    if (!runs.empty()) break;
  }
  std::ranges::sort(runs, {}, [](const NamedRun& run) { return fold_of(run.folder); });
  return runs;
}

NamedRun require_run(const std::string& text, const std::string& what) {
  if (auto run = find_run(text)) {
    report_choice(text, *run);
    return *run;
  }
  if (const std::vector<NamedRun> folds = runs_of_folds(text); !folds.empty()) {
    throw UsageError(fmt::format(
        "{}: {} holds the runs of a trial's folds, {} to {}, each with a model of its own; name one of "
        "them, or train one model with the trial's values on all of the training data: mirrortrain fit {} "
        "{}",
        what, shortened(text, 200), name_of(folds.front().folder), name_of(folds.back().folder),
        launch::quoted(folds.front().folder.config().string()), settings_without_validation(folds.front().folder)));
  }
  fs::path above = without_last_slash(text).parent_path();
  if (above.filename() == "checkpoints") above = above.parent_path();
  if (const auto run = above.empty() ? std::nullopt : find_run(above.string()); run && !run->checkpoint) {
    throw UsageError(
        fmt::format("{}: {}", what, no_checkpoint_text(run->folder, without_last_slash(text).filename().string())));
  }
  std::vector<std::string> names;
  for (const RunFolder& run : all_runs()) names.push_back(run.path.filename().string());
  const std::string hint = config::suggestion(text, names);
  throw UsageError(fmt::format("{}: there is no run {}; expected a run's name or folder, or a checkpoint's{}", what,
                               shortened(text, 200),
                               !hint.empty()      ? hint
                               : names.empty()    ? "; runs/ has no run yet"
                               : names.size() > 8 ? "; `mirrortrain runs` lists the runs"
                                                  : fmt::format("; runs/ has {}", fmt::join(names, ", "))));
}

namespace {

/// Of a study whose trials have folds.
std::vector<NamedRun> runs_of_all_folds(const fs::path& study) {
  std::vector<fs::path> trials;
  std::error_code missing;
  for (const fs::directory_entry& entry : fs::directory_iterator(study, missing)) {
    if (!is_link_beside(entry)) trials.push_back(entry.path());
  }
  std::ranges::sort(trials);
  std::vector<NamedRun> runs;
  for (const fs::path& trial : trials) {
    for (NamedRun& run : runs_of_folds(trial.string())) runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace

std::vector<NamedRun> require_runs(const std::string& text, const std::string& what) {
  std::vector<NamedRun> runs;
  if (!text.empty() && !find_run(text)) {
    if (runs = runs_of_folds(text); !runs.empty()) return runs;
    for (const fs::path& folder : {fs::path(text), "runs" / fs::path(text)}) {
      for (const RunFolder& run : all_runs(folder)) runs.push_back({run});
      if (runs.empty()) runs = runs_of_all_folds(folder);
      if (!runs.empty()) return runs;
    }
  }
  return {require_run(text, what)};
}

ConfigurationOrRun configuration_or_run(const std::string& text) {
  if (fs::is_regular_file(text) || config::is_piped(text)) return {text, std::nullopt};
  if (!find_run(text) && (text.ends_with(".yaml") || text.ends_with(".yml"))) return {text, std::nullopt};
  NamedRun run = require_run(text, text);
  const std::string file = run.folder.config().string();
  return {file, std::move(run)};
}

}  // namespace mirrortrain
