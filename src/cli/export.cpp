#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "train/export/export_run.h"

namespace mirrortrain::cli {
namespace {

namespace fs = std::filesystem;

struct ExportArguments {
  std::string run;
  std::optional<std::string> format, output;
  ExportOptions options;
};

std::vector<std::string> names_of(std::string_view ExportFormat::*member) {
  std::vector<std::string> names;
  for (const ExportFormat& format : kExportFormats) names.emplace_back(format.*member);
  return names;
}

/// By --format, else by the file's ending, else the first.
const ExportFormat& format_of(const ExportArguments& arguments) {
  const auto find = [](std::string_view ExportFormat::*member, const std::string& text) {
    return std::ranges::find(kExportFormats, text, member);
  };
  const auto named = arguments.format ? find(&ExportFormat::name, *arguments.format) : kExportFormats.begin();
  if (!arguments.output || *arguments.output == "-") return *named;
  const auto of_ending = find(&ExportFormat::ending, fs::path(*arguments.output).extension().string());
  if (of_ending == kExportFormats.end()) {
    const std::vector<std::string> endings =
        arguments.format ? std::vector<std::string>{std::string(named->ending)} : names_of(&ExportFormat::ending);
    throw UsageError(
        fmt::format("--output {}: expected a file that ends in {}", *arguments.output, fmt::join(endings, " or ")));
  }
  if (arguments.format && of_ending != named) {
    throw UsageError(
        fmt::format("--output {}: --format {} writes a file that ends in {}; rename it, or leave out --format",
                    *arguments.output, named->name, named->ending));
  }
  return *of_ending;
}

void write_export(const ExportArguments& arguments) {
  const ExportFormat& format = format_of(arguments);
  const TrainedRun run = open_trained_run(arguments.run, {});
  const std::string file =
      arguments.output
          ? *arguments.output
          : (run.named.folder.path / (run.checked.values().name.text + std::string(format.ending))).string();
  if (!arguments.output && fs::exists(file) && !fs::is_regular_file(file)) {
    throw UsageError(fmt::format("{}: expected a file, found a folder, a pipe or a device; remove it", file));
  }
  ExportOptions options = arguments.options;
  if (file != "-") options.file = file;
  const std::string bytes = format.bytes(run, options);
  if (file == "-") {
    std::fwrite(bytes.data(), 1, bytes.size(), stdout);
    return;
  }
  write_result(file, bytes);
  fmt::print("{}\n", file);
}

}  // namespace

void add_export(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<ExportArguments>();
  CLI::App* const command =
      app.add_subcommand("export", "Write a trained model as a file that other programs run it from.");
  command->add_option("RUN", arguments->run, "A run's name or folder, or a checkpoint's")->required();
  command
      ->add_option("--format", arguments->format,
                   fmt::format("{}; default: by the ending of --output, else {}",
                               fmt::join(names_of(&ExportFormat::name), " or "), kExportFormats.front().name))
      ->check(one_of(names_of(&ExportFormat::name)))
      ->type_name("FORMAT");
  add_output_file(*command, "-o,--output", arguments->output,
                  "File to write; -: stdout; default: NAME with the format's ending in the run's folder, NAME being "
                  "the configuration's");
  command->add_flag("--raw", arguments->options.raw,
                    "Leave out the preprocessing: the file takes what the first layers take");
  command->callback([arguments, &exit_code] {
    write_export(*arguments);
    exit_code = 0;
  });
}

}  // namespace mirrortrain::cli
