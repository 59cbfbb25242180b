#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace mirrortrain::cli {

/// An option or an argument as its declaration describes it.
struct OptionText {
  std::vector<std::string> names;  ///< "-b", "--json"; of an argument its name alone
  std::string value;               ///< "FILE"; empty for a flag
  std::string help;
  bool required = false;
};

/// A command as its declaration describes it: what help, the man page and completions are written from.
struct CommandText {
  std::string name;  ///< as it is typed: "mirrortrain config check"
  std::string help;
  std::vector<OptionText> arguments, options;
  std::vector<CommandText> commands;  ///< below it

  /// "mirrortrain fit [OPTIONS] CONFIG"
  std::string usage() const;
};

/// `name`: of the commands above it, empty for the program.
CommandText describe(const CLI::App& command, const std::string& above = "");

/// For a terminal of so many columns.
std::string help_text(const CommandText& command, std::size_t width);
/// In roff, for man(1).
std::string man_page(const CommandText& program, const std::string& version);
std::string bash_completion(const CommandText& program);
std::string zsh_completion(const CommandText& program);

/// For this terminal, or 80 columns where there is none.
std::string help_text(const CommandText& command);

/// Gives the program and its commands help_text as their help. Before commands are added.
void use_help_text(CLI::App& app);

/// "there is no command 'x'; the commands are ...", of those below `command`.
std::string unknown_command(const std::string& given, const CommandText& command);

/// What is wrong with a command line that the parser refused, and the usage of the command.
std::string refused_text(const CLI::App& app, const CLI::ParseError& error);

}  // namespace mirrortrain::cli
