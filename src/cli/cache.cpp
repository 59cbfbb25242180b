#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/commands.h"
#include "data/files/unpacked_files.h"
#include "report/console.h"

namespace mirrortrain::cli {
namespace {

using UnpackedEntries = std::vector<data::UnpackedFiles::Entry>;

std::string size_text(std::uint64_t bytes) {
  constexpr double kMiB = 1 << 20;
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / kMiB);
}

std::string sum_text(const UnpackedEntries& entries) {
  std::uint64_t bytes = 0;
  for (const auto& entry : entries) bytes += entry.bytes;
  return fmt::format("{} file{}, {}", entries.size(), entries.size() == 1 ? "" : "s", size_text(bytes));
}

data::UnpackedFiles folder_of(const std::optional<std::string>& named) {
  if (named && !std::filesystem::is_directory(*named)) {
    throw UsageError(
        fmt::format("--directory {}: there is no such folder; name the data.cache_directory of a run", *named));
  }
  return data::UnpackedFiles(named.value_or(data::default_cache_directory()));
}

void list_unpacked(const data::UnpackedFiles& unpacked) {
  const UnpackedEntries entries = unpacked.entries();
  for (const auto& entry : entries) {
    const std::string state = !entry.is_whole ? entry.is_in_use ? ", being unpacked" : ", left by a run that was killed"
                              : entry.is_in_use ? ", in use"
                                                : "";
    report::print_fitted(stdout, fmt::format("{}  {}{}\n", entry.path, size_text(entry.bytes), state));
  }
  report::print_fitted(stdout, fmt::format("{}: {}\n", unpacked.folder(), sum_text(entries)));
}

void clean_unpacked(const data::UnpackedFiles& unpacked) {
  const UnpackedEntries removed = unpacked.clean();
  const UnpackedEntries left = unpacked.entries();
  report::print_fitted(stdout, fmt::format("{}: removed {}{}\n", unpacked.folder(), sum_text(removed),
                                           left.empty() ? "" : fmt::format("; in use: {}", sum_text(left))));
}

}  // namespace

void add_cache(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("cache", "List the unpacked files of data that are larger than data.memory, or remove them.");
  command->require_subcommand(1);
  auto folder = std::make_shared<std::optional<std::string>>();
  const auto add = [&](const char* name, const char* help, auto run) {
    CLI::App* const one = command->add_subcommand(name, help);
    one->add_option("--directory", *folder,
                    "The data.cache_directory of the runs; default: the folder of runs that name none")
        ->type_name("DIR");
    one->callback([folder, run, &exit_code] {
      run(folder_of(*folder));
      exit_code = 0;
    });
  };
  add("list", "Each file with its size, and whether a run uses it.", list_unpacked);
  add("clean", "Remove all files that no run uses: the next run that wants one unpacks it again.", clean_unpacked);
}

}  // namespace mirrortrain::cli
