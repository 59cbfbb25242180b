#include "cli/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>

#include "base/error.h"
#include "base/files.h"
#include "base/utf8.h"
#include "config/document.h"
#include "config/scalar.h"
#include "data/sources/data_options.h"
#include "train/checkpoint/run_folder.h"

namespace mirrortrain::cli {
namespace {

/// Empty if the file can be written. An existing file is not changed.
std::string why_not_writable(const std::string& file) {
  if (file == "-") return "";  // stdout, if the command supports it
  // A pipe's reader would treat the end of the test as the end of the results.
  if (std::filesystem::is_fifo(file)) return "";
  if (const std::string own = own_file_of_run(file); !own.empty()) {
    return fmt::format("this would replace {}; name another file", own);
  }
  try {
    const AtomicFile trial(file);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

constexpr const char* kEmpty = "expected a value, found an empty text; is a variable unset?";

void refuse_empty_values(CLI::App& command) {
  const CLI::Validator is_given([](std::string& text) { return text.empty() ? std::string(kEmpty) : std::string(); },
                                "");
  for (CLI::Option* const option : command.get_options()) {
    // The command started by `launch` is parsed separately; generate reports errors in an empty prompt.
    const bool is_looked_at_later = option->get_name() == "COMMAND" || option->get_name() == "--prompt";
    if (option->get_items_expected_max() > 0 && !is_looked_at_later) option->transform(is_given);  // the first check
  }
  for (CLI::App* const inner : command.get_subcommands([](CLI::App*) { return true; })) refuse_empty_values(*inner);
}

/// Whether a command has an option of this name whose value is optional.
bool has_optional_value(const CLI::App& command, const std::string& name) {
  const CLI::Option* const option = command.get_option_no_throw(name);
  if (option != nullptr && option->get_items_expected_min() == 0 && option->get_items_expected_max() > 0) return true;
  const auto inner = command.get_subcommands([](const CLI::App*) { return true; });
  return std::ranges::any_of(inner, [&](const CLI::App* one) { return has_optional_value(*one, name); });
}

}  // namespace

void refuse_empty_texts(CLI::App& program, const std::vector<std::string>& words) {
  refuse_empty_values(program);
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    const std::string& word = words[i];
    const bool has_no_value = word.starts_with("--") && word.find('=') == word.size() - 1;
    if (has_no_value) throw UsageError(fmt::format("{}: {}", word.substr(0, word.size() - 1), kEmpty));
    if (word.empty() && i > 0 && has_optional_value(program, words[i - 1])) {
      throw UsageError(fmt::format("{}: {}", words[i - 1], kEmpty));
    }
  }
}

namespace {

template <class T>
CLI::Validator number_within(T low, T high, const char* what) {
  return {[=](const std::string& text) -> std::string {
            T number{};
            const char* const end = text.data() + text.size();
            const auto [stopped, error] = std::from_chars(text.data(), end, number);
            if (stopped == end && error == std::errc() && number >= low && number <= high) return "";
            return fmt::format("expected {} from {} to {}, found '{}'", what, low, high, shortened(text));
          },
          ""};
}

}  // namespace

CLI::Validator within(long low, long high) { return number_within(low, high, "a whole number"); }

CLI::Validator within(double low, double high) { return number_within(low, high, "a number"); }

CLI::Validator one_of(const std::vector<std::string>& words) {
  return {[words](const std::string& text) -> std::string {
            if (std::ranges::count(words, text) > 0) return "";
            return fmt::format("expected {}, found '{}'{}", fmt::join(words, " or "), shortened(text),
                               config::suggestion(text, words));
          },
          ""};
}

CLI::Option* add_overrides(CLI::App& command, std::vector<std::string>& overrides, const std::string& help) {
  return command.add_option("--set", overrides, help)->allow_extra_args(false)->type_name("KEY=VALUE");
}

void add_configuration(CLI::App& command, std::string& file, std::vector<std::string>& overrides) {
  command.add_option("CONFIG", file, "Path of the configuration file")->required();
  add_overrides(command, overrides);
}

CLI::Option* add_split(CLI::App& command, data::Split& split, const std::string& help) {
  std::map<std::string, data::Split> splits;
  for (const data::Split one : {data::Split::kTest, data::Split::kValidation, data::Split::kTrain}) {
    splits.emplace(data::name_of(one), one);
  }
  return command
      .add_option_function<std::string>(
          "--split", [&split, splits](const std::string& name) { split = splits.at(name); }, help)
      ->type_name("SPLIT")
      ->check([](const std::string& name) -> std::string {
        const std::vector<std::string> names = {"test", "validation", "train"};
        if (std::ranges::count(names, name) > 0) return "";
        return fmt::format(
            "expected test, validation or train, found '{}'{}", name,
            config::suggestion(name, config::with_aliases(names, config::names_of_keys<data::DataOptions>())));
      });
}

void write_json(const std::string& file, const std::string& json) {
  if (file == "-") {
    fmt::print("{}\n", json);
  } else {
    write_result(file, json + "\n");
  }
}

CLI::Option* add_output_file(CLI::App& command, const std::string& names, std::optional<std::string>& file,
                             const std::string& help) {
  return command.add_option(names, file, help)
      ->type_name("FILE")
      ->check(CLI::Validator([](std::string& name) { return why_not_writable(name); }, ""));
}

CLI::Option* add_json(CLI::App& command, std::optional<std::string>& file, const std::string& help) {
  return add_output_file(command, "--json", file, help);
}

}  // namespace mirrortrain::cli
