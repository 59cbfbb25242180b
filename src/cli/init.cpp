#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/files.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/first_model.h"
#include "cli/folded_line.h"
#include "cli/options.h"
#include "data/first_look/look_at_data.h"
#include "report/fitted.h"

namespace mirrortrain::cli {
namespace {

struct InitArguments {
  std::string data;
  std::optional<std::string> label, output;
};

std::string classes_text(const data::DataLook& look) {
  if (look.classes == 0) return "labels are numbers to predict";
  if (look.names.empty()) return fmt::format("{} classes", look.classes);
  std::vector<std::string> names(look.names.begin(),
                                 look.names.begin() + std::min<std::ptrdiff_t>(10, std::ssize(look.names)));
  return fmt::format("{} classes: {}{}", look.classes, fmt::join(names, ", "),
                     names.size() < look.names.size() ? ", ..." : "");
}

/// Formats a text as comment lines.
std::string comment(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return is_control(static_cast<unsigned char>(c)) && static_cast<unsigned char>(c) < 0x80; },
      ' ');
  return report::fitted("# " + text, kLineColumns) + "\n";
}

std::string configuration(const std::string& path, const data::DataLook& look) {
  std::filesystem::path named = std::filesystem::absolute(path).lexically_normal();
  if (!named.has_filename()) named = named.parent_path();
  const std::int64_t batch = look.examples >= 2000 ? 64 : look.examples >= 200 ? 32 : 8;
  std::string text = comment("Made by `mirrortrain init`; every value may be changed.") +
                     comment(fmt::format("{} examples, {}", look.examples, classes_text(look)));
  for (const std::string& remark : look.remarks) text += comment(remark);
  text +=
      fmt::format("name: {}\nseed: 1\ndata:\n  global_batch_size: {}\n", data::yaml_text(named.stem().string()), batch);
  text += folded("  train: " + look.train);
  constexpr std::int64_t kFew = 5;  // too few for a meaningful validation
  if (!look.validation.empty()) {
    text += folded("  validation: " + look.validation);
  } else if (look.examples >= kFew) {
    text += "  validation: {fraction: 0.2, shuffle: true}     # drawn by the seed\n";
  }
  if (!look.test.empty()) text += folded("  test: " + look.test);
  if (look.skips_bad) text += "  on_bad_example: skip\n";
  if (const std::string steps = first_preprocessing(look); !steps.empty()) text += "  preprocessing:\n" + steps;
  text += first_model(look);
  text += look.classes > 0
              ? fmt::format("loss: {{type: {}categorical_crossentropy, from_logits: true}}\nmetrics: [accuracy]\n",
                            look.is_one_hot ? "" : "sparse_")
              : "loss: mean_squared_error\nmetrics: [mean_absolute_error]\n";
  return text +
         fmt::format("optimizer: {{type: adam, learning_rate: {}}}\n", look.examples >= 2000 ? "0.001" : "0.005") +
         "strategy: {type: mirrored, devices: all}\ntraining: {epochs: 20}\n";
}

/// The configuration file that stdout is redirected to; "" if it is not.
std::filesystem::path stdout_file() {
  std::error_code error;
  const std::filesystem::path file = std::filesystem::read_symlink("/proc/self/fd/1", error);
  const bool is_configuration = file.extension() == ".yaml" || file.extension() == ".yml";
  return !error && is_configuration ? file : std::filesystem::path();
}

}  // namespace

void add_init(CLI::App& app, int&) {
  auto arguments = std::make_shared<InitArguments>();
  CLI::App* command = app.add_subcommand("init", "Write a first configuration for data to stdout.");
  command
      ->add_option("DATA", arguments->data,
                   "A .csv or .tsv table, a folder with a folder of pictures for each class, an IDX images file or an "
                   ".npz archive")
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
    const data::DataLook look = data::look_at_data({arguments->data, arguments->label, file.parent_path()});
    const std::string text = configuration(arguments->data, look);
    if (const auto why = why_not_text(text); !why.empty()) {
      throw UsageError(
          fmt::format("{}: its name or the name of a column {}, so that no configuration can have it; "
                      "rename it",
                      shortened(arguments->data, 200), why));
    }
    if (isatty(STDOUT_FILENO) == 0 || !is_to_stdout) {  // where its comments are not in view
      for (const std::string& remark : look.remarks) fmt::print(stderr, "{}\n", shortened(remark, 400));
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
