#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>

#include "base/utf8.h"
#include "cli/usage.h"
#include "config/scalar.h"
#include "train/configuration.h"

namespace mirrortrain::cli {
namespace {

/// The command that was typed, with the names of those above it.
struct Typed {
  const CLI::App* command;
  std::string above;
};

Typed typed_command(const CLI::App& app) {
  Typed typed{&app, ""};
  while (!typed.command->get_subcommands().empty()) {
    typed.above += (typed.above.empty() ? "" : " ") + typed.command->get_name();
    typed.command = typed.command->get_subcommands().front();
  }
  return typed;
}

/// `--epochs 3` is meant as `--set training.epochs=3`.
std::string unknown_option(const std::string& given, const std::optional<std::string>& next, const CommandText& text) {
  const std::size_t equals = given.find('=');
  const std::string option = given.substr(0, equals);
  const std::string name = option.substr(std::min(option.find_first_not_of('-'), option.size()));
  std::vector<std::string> options;
  for (const OptionText& known : text.options) options.insert(options.end(), known.names.begin(), known.names.end());
  const bool takes_set = std::ranges::count(options, "--set") > 0;
  std::string hint = config::suggestion(option, options);
  if (takes_set && hint.empty() && name != "data") {  // which is a section, and what others take
    if (const auto key = config::key_elsewhere(name, config::schema<Configuration>())) {
      const std::string value = equals != std::string::npos ? given.substr(equals + 1) : next.value_or("VALUE");
      hint = fmt::format("; did you mean --set {}={}?", *key, value);
    }
  }
  return fmt::format("there is no option {}{}", shortened(option), hint);
}

std::string unknown_command(const std::string& given, const CommandText& text) {
  std::vector<std::string> names;
  for (const CommandText& inner : text.commands) names.push_back(inner.name.substr(inner.name.rfind(' ') + 1));
  return fmt::format("there is no command '{}'; the commands are {}{}", shortened(given), fmt::join(names, ", "),
                     config::suggestion(given, names));
}

std::string what_is_wrong(const CLI::App& command, const CommandText& text, const CLI::ParseError& error) {
  std::vector<std::string> rest = command.remaining();
  if (!rest.empty() && !text.commands.empty()) return unknown_command(rest[0], text);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr || rest.empty()) return error.what();
  // Options first: what follows one may be its value.
  const auto option = std::ranges::find_if(rest, [](const std::string& word) { return word.starts_with("-"); });
  if (option == rest.end()) return fmt::format("unexpected argument '{}'", shortened(rest[0]));
  // Versions of the parser differ in the order in which they give what is left.
  const auto value = std::ranges::find_if(rest, [](const std::string& word) { return !word.starts_with("-"); });
  return unknown_option(*option, value != rest.end() ? std::optional(*value) : std::nullopt, text);
}

}  // namespace

std::string refused_text(const CLI::App& app, const CLI::ParseError& error) {
  const Typed typed = typed_command(app);
  const CommandText text = describe(*typed.command, typed.above);
  if (!text.commands.empty() && typed.command->remaining().empty()) return help_text(text, 80);
  return fmt::format("{}: {}\nUsage: {}\n`{} -h` describes {}", text.name, what_is_wrong(*typed.command, text, error),
                     text.usage(), text.name, text.commands.empty() ? "its options" : "its commands");
}

}  // namespace mirrortrain::cli
