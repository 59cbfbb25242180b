#include "cli/usage.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

#include "base/utf8.h"
#include "report/console.h"

namespace mirrortrain::cli {
namespace {

OptionText describe(const CLI::Option& option) {
  OptionText text{{}, "", option.get_description(), option.get_required()};
  if (option.get_positional()) {
    text.names = {option.get_name(true, false) + (option.get_items_expected_max() > 1 ? "..." : "")};
    return text;
  }
  for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
  if (option.get_items_expected_max() > 0 && option.get_type_size() != 0) text.value = option.get_type_name();
  return text;
}

/// "-b, --begin SIZE"
std::string label_of(const OptionText& option) {
  std::string label;
  for (const std::string& name : option.names) label += (label.empty() ? "" : ", ") + name;
  return label + (option.value.empty() ? "" : " ") + option.value;
}

/// Wraps words to at most `width` columns, with all but the first line indented.
std::string filled(std::string_view text, std::size_t indent, std::size_t width) {
  std::string result;
  std::size_t column = indent;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    const std::size_t columns = display_width(word);
    if (column > indent && column + 1 + columns > width) {
      result += "\n" + std::string(indent, ' ');
      column = indent;
    }
    if (column > indent) result += " ", ++column;
    result += word;
    column += columns;
  }
  return result;
}

constexpr std::size_t kLabelColumns = 24;

void add_entry(std::string& out, const std::string& label, const std::string& help, std::size_t width) {
  out += "  " + label;
  const std::size_t columns = display_width(label) + 2;
  out +=
      columns + 2 > kLabelColumns ? "\n" + std::string(kLabelColumns, ' ') : std::string(kLabelColumns - columns, ' ');
  out += filled(help, kLabelColumns, width) + "\n";
}

}  // namespace

std::string CommandText::usage() const {
  std::string text = name;
  if (!options.empty()) text += " [OPTIONS]";
  for (const OptionText& argument : arguments) {
    text += argument.required ? " " + argument.names[0] : fmt::format(" [{}]", argument.names[0]);
  }
  return commands.empty() ? text : text + " COMMAND";
}

CommandText describe(const CLI::App& command, const std::string& above) {
  CommandText text{above + (above.empty() ? "" : " ") + command.get_name(), command.get_description(), {}, {}, {}, {}};
  text.examples = examples_of(text.name);
  for (const CLI::Option* const option : command.get_options()) {
    (option->get_positional() ? text.arguments : text.options).push_back(describe(*option));
  }
  for (const CLI::App* const inner : command.get_subcommands({})) {
    if (!inner->get_group().empty()) text.commands.push_back(describe(*inner, text.name));  // otherwise it is hidden
  }
  return text;
}

std::string help_text(const CommandText& command, std::size_t width) {
  std::string out = filled(command.help, 0, width) + "\nUsage: " + command.usage() + "\n";
  const auto add_all = [&](const char* title, const std::vector<OptionText>& options) {
    if (!options.empty()) out += fmt::format("\n{}:\n", title);
    for (const OptionText& option : options) add_entry(out, label_of(option), option.help, width);
  };
  add_all("Arguments", command.arguments);
  add_all("Options", command.options);
  if (!command.commands.empty()) out += "\nCommands:\n";
  for (const CommandText& inner : command.commands) {
    add_entry(out, inner.word(), inner.help, width);
  }
  if (!command.examples.empty()) out += fmt::format("\n{}:\n", command.examples.size() == 1 ? "Example" : "Examples");
  for (const std::string& example : command.examples) out += fmt::format("  {}\n", example);
  if (!command.commands.empty()) out += fmt::format("\n`{} COMMAND -h` describes a command.\n", command.name);
  return out;
}

std::string help_text(const CommandText& command) {
  return help_text(command,
                   report::is_terminal(stdout) ? std::min<std::size_t>(report::terminal_width(stdout), 120) : 80);
}

void use_help_text(CLI::App& app) {
  app.formatter_fn([](const CLI::App* command, std::string name, CLI::AppFormatMode) {
    CommandText text = describe(*command);
    text.name = std::move(name);
    text.examples = examples_of(text.name);
    return help_text(text);
  });
}

}  // namespace mirrortrain::cli
