#include <fmt/chrono.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/commands.h"
#include "report/console.h"
#include "report/format.h"
#include "train/checkpoint/checkpoint_folder.h"
#include "train/checkpoint/named_run.h"
#include "train/checkpoint/run_folder.h"

namespace mirrortrain::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRunHelp = "A run's name or folder, or one checkpoint's";

/// All checkpoints of a run, with the best epoch's last, or the one that RUN names.
std::vector<fs::path> checkpoints_of(const std::string& run) {
  const NamedRun named = require_run(run, run);
  if (named.checkpoint) return {*named.checkpoint};
  std::vector<fs::path> all = checkpoints_in(named.folder.checkpoints());
  const fs::path best = named.folder.checkpoints() / kBestCheckpoint;
  if (fs::exists(best)) all.push_back(best);
  return all;
}

std::uintmax_t bytes_in(const fs::path& checkpoint) {
  std::uintmax_t bytes = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(checkpoint)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

std::string time_of(const fs::path& checkpoint) {
  const auto time = std::chrono::file_clock::to_sys(fs::last_write_time(checkpoint));
  return fmt::format(
      "{:%Y-%m-%d %H:%M:%S}",
      fmt::localtime(std::chrono::system_clock::to_time_t(std::chrono::time_point_cast<std::chrono::seconds>(time))));
}

/// A run in training removes its old checkpoints, possibly while they are read here.
bool is_gone(const fs::path& checkpoint) {
  std::error_code error;
  return !fs::exists(checkpoint, error) && !error;
}

/// Returns whether all are readable.
bool list(const std::vector<fs::path>& checkpoints) {
  bool all_readable = true;
  constexpr std::size_t kWhole = 71;  // columns
  const std::size_t width = report::fitting_width(stdout);
  const bool has_time = width == 0 || width >= kWhole;
  const auto print_row = [&](const std::string& name, const std::string& step, const std::string& epoch,
                             const std::string& saved, const std::string& bytes, const std::string& note) {
    const std::string time = has_time ? fmt::format("  {:<19}", saved) : "";
    report::print_fitted(stdout, fmt::format("{:<16}{:>10}{:>8}{}  {:>14}{}{}\n", name, step, epoch, time, bytes,
                                             note.empty() ? "" : "  ", note));
  };
  print_row("checkpoint", "step", "epoch", "saved", "bytes", "");
  for (const fs::path& checkpoint : checkpoints) {
    const std::string name = checkpoint.filename().string();
    try {
      const CheckpointState state = read_checkpoint_state(checkpoint);
      print_row(name, std::to_string(state.training.step), std::to_string(state.training.position.epoch),
                time_of(checkpoint), report::with_thousands(static_cast<std::int64_t>(bytes_in(checkpoint))),
                state.is_finite ? "" : "has NaN or infinite values");
    } catch (const std::exception& error) {  // including file system errors
      if (is_gone(checkpoint)) continue;
      report::print_fitted(stdout, fmt::format("{:<16}{}\n", name, error.what()));
      all_readable = false;
    }
  }
  return all_readable;
}

/// Returns whether all are intact.
bool check(const std::vector<fs::path>& checkpoints) {
  bool all_whole = true;
  for (const fs::path& checkpoint : checkpoints) {
    std::string found = "whole";
    try {
      if (!open_checkpoint(checkpoint).state.is_finite) found = "whole, has NaN or infinite values";
    } catch (const Damaged& error) {
      if (is_gone(checkpoint)) continue;
      found = fmt::format("damaged: {}", error.what());
      all_whole = false;
    } catch (const Error& error) {
      if (is_gone(checkpoint)) continue;
      found = fmt::format("not usable: {}", error.what());
      all_whole = false;
    }
    report::print_fitted(stdout, fmt::format("{:<16}{}\n", checkpoint.filename().string(), found));
  }
  if (checkpoints.empty()) fmt::print("the run has no checkpoint\n");
  return all_whole;
}

}  // namespace

void add_checkpoint(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("checkpoint", "List the checkpoints of a run, or check whether they are whole.");
  command->require_subcommand(1);
  auto run = std::make_shared<std::string>();
  CLI::App* list_command = command->add_subcommand(
      "list",
      "Step, epoch, time and size of each checkpoint, from its state.json alone: only `check` reads the weights; exit "
      "code 1 where a state cannot be read.");
  list_command->add_option("RUN", *run, kRunHelp)->required();
  list_command->callback([run, &exit_code] { exit_code = list(checkpoints_of(*run)) ? 0 : 1; });
  CLI::App* check_command = command->add_subcommand(
      "check", "Read every file of each checkpoint and compare its checksum; exit code 1 where one is not whole.");
  check_command->add_option("RUN", *run, kRunHelp)->required();
  check_command->callback([run, &exit_code] { exit_code = check(checkpoints_of(*run)) ? 0 : 1; });
}

}  // namespace mirrortrain::cli
