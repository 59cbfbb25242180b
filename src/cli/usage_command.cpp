#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/usage.h"

namespace mirrortrain::cli {

void add_usage(CLI::App& app, int& exit_code) {
  CLI::App* const command = app.add_subcommand("usage", "Print the man page or a shell's completion.")->group("");
  command->require_subcommand(1);
  const auto add = [&](const char* name, const char* help, auto text) {
    command->add_subcommand(name, help)->callback([&app, &exit_code, text] {
      fmt::print("{}", text(describe(app)));
      exit_code = 0;
    });
  };
  add("man", "Print the man page.", [](const CommandText& program) { return man_page(program, MIRRORTRAIN_VERSION); });
  add("bash", "Print the completion for bash.", bash_completion);
  add("zsh", "Print the completion for zsh.", zsh_completion);
}

}  // namespace mirrortrain::cli
