#include "train/run_folder.h"

#include <fmt/format.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>

#include "base/error.h"

namespace mirrortrain {
namespace {

namespace fs = std::filesystem;

fs::path numbered(const std::string& name, int number) {
  return fs::path("runs") / (number == 1 ? name : fmt::format("{}-{}", name, number));
}

}  // namespace

void log_to_file(const fs::path& file) {
  auto& sinks = spdlog::default_logger()->sinks();
  const auto* const last = dynamic_cast<spdlog::sinks::basic_file_sink_mt*>(sinks.back().get());
  if (last != nullptr && last->filename() == file.string()) return;  // an elastic run opens its folder again
  auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(file.string());
  sink->set_pattern("%Y-%m-%d %H:%M:%S.%e %l %v");
  sinks.push_back(std::move(sink));
}

void log_to_file_alone(const std::string& error) {
  const auto& sinks = spdlog::default_logger()->sinks();
  for (std::size_t i = 1; i < sinks.size(); ++i) {
    sinks[i]->log({"mirrortrain", spdlog::level::err, error});
    sinks[i]->flush();
  }
}

RunFolder new_run_folder(const std::string& name, const std::optional<fs::path>& run_dir) {
  if (!run_dir) {
    int number = 1;
    while (fs::exists(numbered(name, number))) ++number;
    return {numbered(name, number)};
  }
  std::error_code ignored;
  if (fs::exists(*run_dir) && !fs::is_directory(*run_dir)) {
    throw UsageError(fmt::format("--run-dir {}: expected a folder, found a file", run_dir->string()));
  }
  if (fs::exists(*run_dir) && !fs::is_empty(*run_dir, ignored)) {
    const RunFolder folder{*run_dir};
    throw UsageError(
        folder.exists()
            ? fmt::format("--run-dir {}: holds another run; resume it with --resume, or name another folder",
                          run_dir->string())
            : fmt::format("--run-dir {}: the folder is not empty; name another one", run_dir->string()));
  }
  return {*run_dir};
}

std::optional<RunFolder> newest_run(const std::string& name) {
  std::optional<RunFolder> newest;
  fs::file_time_type newest_time;
  std::error_code missing;
  for (const fs::directory_entry& entry : fs::directory_iterator("runs", missing)) {
    const std::string folder = entry.path().filename().string();
    const bool numbered_one = folder.starts_with(name + "-") && folder.size() > name.size() + 1 &&
                              folder.find_first_not_of("0123456789", name.size() + 1) == std::string::npos;
    const RunFolder candidate{entry.path()};
    if ((folder != name && !numbered_one) || !candidate.exists()) continue;
    const auto time = fs::last_write_time(candidate.config());
    if (!newest || time > newest_time) {
      newest = candidate;
      newest_time = time;
    }
  }
  return newest;
}

}  // namespace mirrortrain
