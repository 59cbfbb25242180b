#include "train/checkpoint/run_folder.h"

#include <fmt/format.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/files.h"

namespace mirrortrain {
namespace {

namespace fs = std::filesystem;

fs::path numbered(const std::string& name, int number) {
  return fs::path("runs") / (number == 1 ? name : fmt::format("{}-{}", name, number));
}

/// Ignores the files of a run that was killed before it had written its config.yaml.
bool is_free(const fs::path& folder) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().filename() != RunLock::kName && !is_temporary(entry.path())) return false;
  }
  return true;
}

}  // namespace

bool RunFolder::exists() const {
  std::error_code none;
  if (!fs::is_regular_file(config(), none)) return false;
  const auto start_of = [](const fs::path& file) {
    std::string start(256, ' ');
    try {
      start.resize(InputFile(file).read(std::as_writable_bytes(std::span(start))));
    } catch (const SystemError&) {  // it does not exist or cannot be read
      start.clear();
    }
    return start;
  };
  // A run's config.yaml may have been copied, and each of its files be lost or damaged.
  const bool has_trained = fs::exists(path / RunLock::kName, none) || fs::is_directory(checkpoints(), none) ||
                           fs::exists(summary(), none) || fs::exists(metrics(), none);
  return start_of(metrics()).starts_with("{\"event\":") || start_of(log()).find(" run folder: ") != std::string::npos ||
         (has_trained && start_of(config()).starts_with(kRunMark));
}

std::string own_file_of_run(const fs::path& file) {
  const fs::path target = resolve_symlinks(fs::absolute(file)).lexically_normal();
  const std::string name = target.filename().string();
  const auto of = [&](const fs::path& run) { return fmt::format("{} of the run {}", name, run.string()); };
  const fs::path folder = target.parent_path();
  for (fs::path above = folder; above.has_relative_path(); above = above.parent_path()) {
    if (above.filename() == "checkpoints" && RunFolder{above.parent_path()}.exists()) return of(above.parent_path());
  }
  const RunFolder run{folder};
  const fs::path own[] = {run.config(), run.metrics(), run.epochs(),        run.evaluations(), run.summary(),
                          run.model(),  run.classes(), run.preprocessing(), run.log(),         folder / RunLock::kName};
  const bool is_own = std::ranges::find(own, target) != std::end(own) || name.starts_with("events.out.tfevents");
  return is_own && run.exists() ? of(folder) : "";
}

void log_to_file(const fs::path& file) {
  auto& sinks = spdlog::default_logger()->sinks();
  const auto* const last = dynamic_cast<spdlog::sinks::basic_file_sink_mt*>(sinks.back().get());
  const std::string path = fs::absolute(file).string();
  if (last != nullptr && last->filename() == path) return;  // an elastic run opens its folder again
  auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path);
  sink->set_pattern("%Y-%m-%d %H:%M:%S.%e %l %v");
  sinks.push_back(std::move(sink));
}

void log_to_file_alone(const std::string& error) {
  const auto& sinks = spdlog::default_logger()->sinks();
  for (std::size_t i = 1; i < sinks.size(); ++i) {
    try {
      sinks[i]->log({"mirrortrain", spdlog::level::err, error});
      sinks[i]->flush();
    } catch (const spdlog::spdlog_ex&) {  // the disk is full
    }
  }
}

bool is_quiet() {
  const auto& sinks = spdlog::default_logger()->sinks();
  return !sinks.empty() && sinks.front()->level() > spdlog::level::info;
}

void require_free(const fs::path& run_dir) {
  if (!fs::exists(run_dir)) return;
  if (!fs::is_directory(run_dir)) {
    throw UsageError(fmt::format("--run-dir {}: expected a folder, found a file", run_dir.string()));
  }
  if (is_free(run_dir)) return;
  const bool holds_run = RunFolder{run_dir}.exists();
  throw UsageError(holds_run
                       ? fmt::format("--run-dir {}: holds another run; resume it with --resume, or name another folder",
                                     run_dir.string())
                       : fmt::format("--run-dir {}: the folder is not empty; name another one", run_dir.string()));
}

RunFolder create_run_folder(const std::string& name, const std::optional<fs::path>& run_dir, RunLock& lock) {
  if (run_dir) {
    create_folders(*run_dir);
    lock = RunLock(*run_dir);
    require_free(*run_dir);  // another process may have been first
    remove_temporary_files({*run_dir});
    return {*run_dir};
  }
  create_folders("runs");
  RunFolder folder = next_run_folder(name);
  while (!create_folder(folder.path)) folder = next_run_folder(name);
  lock = RunLock(folder.path);
  return folder;
}

RunFolder next_run_folder(const std::string& name) {
  int number = 1;
  while (fs::exists(numbered(name, number))) ++number;
  return {numbered(name, number)};
}

void require_files(const RunFolder& folder) {
  for (const fs::path& file : {folder.metrics(), folder.epochs(), folder.evaluations(), folder.summary(),
                               folder.model(), folder.classes(), folder.preprocessing(), folder.log()}) {
    if (fs::exists(file) && !fs::is_regular_file(file)) {
      throw UsageError(fmt::format("{}: expected a file, found {}; remove it", file.string(),
                                   fs::is_directory(file) ? "a folder" : "a pipe or a device"));
    }
  }
}

void remove_temporary_files(const RunFolder& folder) {
  std::vector<fs::path> left;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.path, ignored)) {
    if (is_temporary(entry.path())) left.push_back(entry.path());
  }
  for (const fs::path& file : left) fs::remove(file, ignored);
}

std::string name_of(const RunFolder& folder) {
  const fs::path path = fs::absolute(folder.path).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

}  // namespace mirrortrain
