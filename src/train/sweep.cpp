#include "train/sweep.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/utf8.h"
#include "report/console.h"
#include "strategy/topology.h"
#include "train/runs/run_table.h"
#include "train/session/check_configuration.h"
#include "train/swept_runs.h"

namespace mirrortrain {
namespace {

namespace fs = std::filesystem;

/// The values in "0.1, 0.01". Commas within brackets do not separate values.
std::vector<std::string> swept_values(const std::string& text) {
  std::vector<std::string> values;
  std::string value;
  int depth = 0;
  for (const char c : text + ",") {
    if (c == ',' && depth == 0) {
      values.emplace_back(without_outer_spaces(value));
      value.clear();
      continue;
    }
    depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    value += c;
  }
  return values;
}

/// The settings of "optimizer.learning_rate=0.1,0.01"; [0.1,0.01] is equivalent.
std::vector<std::string> settings_of(const std::string& sweep) {
  const std::size_t equals = sweep.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == sweep.size()) {
    throw UsageError(fmt::format("--sweep {}: expected KEY=A,B,C, as optimizer.learning_rate=0.1,0.01", sweep));
  }
  std::vector<std::string> values = swept_values(sweep.substr(equals + 1));
  // A single list is one value, which is not a sweep.
  if (values.size() == 1 && values[0].starts_with('[') && values[0].ends_with(']')) {
    values = swept_values(values[0].substr(1, values[0].size() - 2));
  }
  std::vector<std::string> settings;
  for (const std::string& value : values) {
    if (std::ranges::count(values, value) > 1) {
      throw UsageError(fmt::format("--sweep {}: {} is listed twice", sweep.substr(0, equals), value));
    }
    settings.push_back(sweep.substr(0, equals + 1) + value);
  }
  return settings;
}

std::string key_of(const std::string& setting) { return setting.substr(0, setting.find('=')); }

void require_different_keys(const std::vector<std::string>& sweeps) {
  for (const std::string& sweep : sweeps) {
    const std::string key = key_of(sweep);
    if (std::ranges::count(sweeps, key, key_of) == 1) continue;
    throw UsageError(fmt::format("--sweep {}: given twice; list all its values in one", key));
  }
}

/// All combinations of the sweeps' values, as for `--set`: the last sweep's values change fastest. Throws UsageError.
std::vector<std::vector<std::string>> combinations(const std::vector<std::string>& sweeps) {
  std::vector<std::vector<std::string>> all(1);
  for (const std::string& sweep : sweeps) {
    std::vector<std::vector<std::string>> longer;
    for (const std::vector<std::string>& settings : all) {
      for (const std::string& setting : settings_of(sweep)) {
        longer.push_back(settings);
        longer.back().push_back(setting);
      }
    }
    all = std::move(longer);
  }
  return all;
}

/// The name of a combination's configuration. Throws its errors, in terms of the user's options.
std::string checked_name(const FitArguments& fit, const std::vector<std::string>& settings) {
  std::vector<std::string> overrides = fit.overrides;
  overrides.insert(overrides.end(), settings.begin(), settings.end());
  try {
    return check_configuration(fit.config, overrides).values().name.text;
  } catch (const UsageError& error) {
    std::string text = error.what();
    for (const std::string& setting : settings) {
      const std::string of_set = fmt::format("--set {}:", key_of(setting));
      const std::string of_sweep = fmt::format("--sweep {}:", key_of(setting));
      for (std::size_t at = 0; (at = text.find(of_set, at)) != std::string::npos; at += of_sweep.size()) {
        text.replace(at, of_set.size(), of_sweep);
      }
    }
    throw UsageError(text);
  }
}

/// "learning_rate=0.1,momentum=0.9": a folder's name.
std::string folder_name(const std::vector<std::string>& settings) {
  std::string name;
  for (const std::string& setting : settings) {
    const std::size_t equals = setting.find('=');
    const std::size_t dot = setting.rfind('.', equals);
    if (!name.empty()) name += ',';
    name += setting.substr(dot == std::string::npos ? 0 : dot + 1);
  }
  std::ranges::replace(name, '/', '_');
  return name;
}

fs::path new_sweep_folder(const FitArguments& fit, const std::string& name) {
  if (fit.run_dir) {
    if (fs::exists(*fit.run_dir) && !fs::is_empty(*fit.run_dir)) {
      throw UsageError(
          fmt::format("--run-dir {}: the folder is not empty; name another one for the sweep", *fit.run_dir));
    }
    return *fit.run_dir;
  }
  fs::path folder = fs::path("runs") / (name + "-sweep");
  for (int number = 2; fs::exists(folder); ++number)
    folder = fs::path("runs") / fmt::format("{}-sweep-{}", name, number);
  return folder;
}

void require_parts(int parts, const Machine& machine, std::size_t gpus) {
  const std::size_t most = gpus > 0 ? gpus : machine.cores.size();
  if (static_cast<std::size_t>(parts) > most) {
    throw UsageError(fmt::format("--side-by-side {}: this machine has {} {} to share among the runs", parts, most,
                                 gpus > 0 ? "GPUs" : "cores"));
  }
}

}  // namespace

int sweep(const FitArguments& fit, const SweepArguments& arguments) {
  if (fit.resume || fit.resumes_if_any)
    throw UsageError("--sweep starts new runs; resume one of them by its name without --sweep");
  require_different_keys(arguments.sweeps);
  const auto all = combinations(arguments.sweeps);
  const Machine machine = this_machine();
  const std::size_t gpus = machine.gpus().gpus.size();
  require_parts(arguments.side_by_side, machine, gpus);
  std::string name;
  for (const auto& settings : all) {  // all errors are found before the first run
    name = checked_name(fit, settings);
  }
  const fs::path folder = new_sweep_folder(fit, name);
  if (!fit.dry_run) create_folders(folder);

  SweptRuns started_runs(arguments.side_by_side, machine, gpus, arguments.catch_stop_signals());
  std::size_t started = 0;
  for (; started < all.size() && started_runs.await_room(); ++started) {
    const std::vector<std::string>& settings = all[started];
    spdlog::info("run {} of {}: {}", started + 1, all.size(), fmt::join(settings, " "));
    std::vector<std::string> words = {"fit", fit.config};
    for (const std::string& override : fit.overrides) words.insert(words.end(), {"--set", override});
    for (const std::string& setting : settings) words.insert(words.end(), {"--set", setting});
    words.insert(words.end(), {"--run-dir", (folder / folder_name(settings)).string()});
    if (fit.dry_run) words.emplace_back("--dry-run");
    // Progress of several runs would be unreadable.
    if (is_quiet() || arguments.side_by_side > 1) words.emplace_back("-q");
    started_runs.start(words);
  }
  const int exit_code = started_runs.finish();
  if (started < all.size()) {
    spdlog::warn("stopped: {} of {} runs were not started", all.size() - started, all.size());
  }
  if (fit.dry_run) return exit_code;
  std::vector<RunRow> runs = list_runs(folder, std::nullopt);
  sort_runs(runs, RunColumn::kBest);
  fmt::print("{}", run_table(runs, report::fitting_width(stdout)));
  spdlog::info("`mirrortrain runs {}` prints this table again", folder.string());
  return exit_code;
}

}  // namespace mirrortrain
