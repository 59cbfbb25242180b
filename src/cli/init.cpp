#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/init_keras.h"
#include "cli/options.h"
#include "data/first_look/first_configuration.h"
#include "keras/reading/keras_file.h"
#include "train/checkpoint/run_folder.h"

namespace mirrortrain::cli {
namespace {

struct InitArguments {
  std::string data;
  std::optional<std::string> label, output;
};

bool is_hdf5_of_data(const std::string& file) {
  return !in_lower_case(file).ends_with(".keras") && std::filesystem::exists(file) && data::is_hdf5_of_data(file);
}

/// The configuration file that stdout is redirected to; "" if it is not.
std::filesystem::path stdout_file() {
  std::error_code error;
  const std::filesystem::path file = std::filesystem::read_symlink("/proc/self/fd/1", error);
  const bool is_configuration = file.extension() == ".yaml" || file.extension() == ".yml";
  return !error && is_configuration ? file : std::filesystem::path();
}

/// A wide table may have one for each of its columns: the first ones.
void print_remarks(const std::vector<std::string>& remarks) {
  constexpr std::size_t kShown = 10;
  if (is_quiet()) return;
  const std::size_t shown = remarks.size() > kShown + 1 ? kShown : remarks.size();
  for (std::size_t i = 0; i < shown; ++i) fmt::print(stderr, "{}\n", shortened(remarks[i], 400));
  if (shown < remarks.size()) {
    fmt::print(stderr, "{} more remarks like these are comments in the configuration\n", remarks.size() - shown);
  }
}

}  // namespace

void add_init(CLI::App& app, int&) {
  auto arguments = std::make_shared<InitArguments>();
  CLI::App* command =
      app.add_subcommand("init", "Write a first configuration for data, or for a model that Keras saved, to stdout.");
  command
      ->add_option(
          "DATA", arguments->data,
          "A .csv, .tsv or .parquet table, a folder with a folder of pictures for each class, an IDX images "
          "file, an .npz archive, an .npy file with its labels beside it, an .h5 file, a .tar archive of samples, "
          "a glob of such files, or a model as Keras saves it in .keras or .h5, whose weights are written "
          "beside the configuration")
      ->required();
  command->add_option("--label", arguments->label,
                      "A table's label column, by name or number; default: label, class, target, y or the last");
  add_output_file(*command, "-o,--output", arguments->output, "The file to write; default: stdout");
  command->callback([arguments] {
    const bool is_to_stdout = !arguments->output || arguments->output == "-";
    if (!is_to_stdout && std::filesystem::exists(*arguments->output)) {
      throw UsageError(fmt::format("--output {}: the file exists; name another", *arguments->output));
    }
    const std::filesystem::path file = is_to_stdout ? stdout_file() : std::filesystem::path(*arguments->output);
    if (keras::is_weights_file(arguments->data)) {
      throw UsageError(
          fmt::format("{}: it holds weights without a model; give a model that was saved whole (model.save, .keras or "
                      ".h5), or name these weights as model.initial_weights of a configuration",
                      arguments->data));
    }
    if (keras::is_keras_file(arguments->data) && !is_hdf5_of_data(arguments->data)) {
      if (arguments->label) throw UsageError("--label: a model has no label column; leave it out");
      init_from_keras(arguments->data, file, is_to_stdout);
      return;
    }
    const data::DataLook look = data::look_at_data({arguments->data, arguments->label, file.parent_path()});
    const std::string text = data::first_configuration(arguments->data, look);
    if (const auto why = why_not_text(text); !why.empty()) {
      throw UsageError(
          fmt::format("{}: its name or the name of a column {}, so that no configuration can have it; "
                      "rename it",
                      shortened(arguments->data, 200), why));
    }
    if (isatty(STDOUT_FILENO) == 0 || !is_to_stdout) {  // where its comments are not in view
      print_remarks(look.remarks);
    }
    if (is_to_stdout) {
      require_not_read("/dev/stdout");
      fmt::print("{}", text);
    } else {
      write_result(file, text);
    }
  });
}

}  // namespace mirrortrain::cli
