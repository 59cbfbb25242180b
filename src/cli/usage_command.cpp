#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/version.h"
#include "cli/commands.h"
#include "cli/usage.h"

namespace mirrortrain::cli {
namespace {

/// The subcommand of the program that these words name.
CommandText find_command(CommandText found, const std::vector<std::string>& words) {
  const std::string above = found.name;
  for (const std::string& word : words) {
    const auto inner =
        std::ranges::find(found.commands, found.name + " " + word, [](const CommandText& one) { return one.name; });
    if (inner == found.commands.end())
      throw UsageError(fmt::format("{} help: {}", above, unknown_command(word, found)));
    found = CommandText(*inner);
  }
  return found;
}

}  // namespace

void add_help(CLI::App& app, int& exit_code) {
  CLI::App* const command = app.add_subcommand("help", "Describe the program or a command.")->group("");
  auto words = std::make_shared<std::vector<std::string>>();
  command->add_option("COMMAND", *words, "The command, as in `help config check`");
  command->callback([&app, &exit_code, words] {
    fmt::print("{}", help_text(find_command(describe(app), *words)));
    exit_code = 0;
  });
}

void add_usage(CLI::App& app, int& exit_code) {
  CLI::App* const command = app.add_subcommand("usage", "Print the man page or a shell's completion.")->group("");
  command->require_subcommand(1);
  const auto add = [&](const char* name, const char* help, auto text) {
    command->add_subcommand(name, help)->callback([&app, &exit_code, text] {
      fmt::print("{}", text(describe(app)));
      exit_code = 0;
    });
  };
  add("man", "Print the man page.", [](const CommandText& program) { return man_page(program, kVersion); });
  add("bash", "Print the completion for bash.", bash_completion);
  add("zsh", "Print the completion for zsh.", zsh_completion);
}

}  // namespace mirrortrain::cli
