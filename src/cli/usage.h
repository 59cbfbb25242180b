#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace mirrortrain::cli {

/// An option or an argument, from its declaration.
struct OptionText {
  std::vector<std::string> names;  ///< "-b", "--json"; for an argument only its name
  std::string value;               ///< "FILE"; empty for a flag
  std::string help;
  bool required = false;
};

/// A command, from its declaration: the source of help, the man page and completions.
struct CommandText {
  std::string name;  ///< as typed: "mirrortrain config check"
  std::string help;
  std::vector<OptionText> arguments, options;
  std::vector<CommandText> commands;  ///< its subcommands
  std::vector<std::string> examples;  ///< command lines

  /// "mirrortrain fit [OPTIONS] CONFIG"
  std::string usage() const;
  /// The last word of its name: "check"
  std::string word() const { return name.substr(name.rfind(' ') + 1); }
};

/// `name`: of its parent commands, empty for the program.
CommandText describe(const CLI::App& command, const std::string& above = "");

/// Command lines that show how a command is used, "mirrortrain config check"; none of one that only has subcommands.
std::vector<std::string> examples_of(const std::string& command);

/// For a terminal with this many columns.
std::string help_text(const CommandText& command, std::size_t width);
/// In roff, for man(1).
std::string man_page(const CommandText& program, const std::string& version);
std::string bash_completion(const CommandText& program);
std::string zsh_completion(const CommandText& program);

/// For this terminal, or 80 columns if there is none.
std::string help_text(const CommandText& command);

/// Makes help_text the help of the program and its commands. Call it before commands are added.
void use_help_text(CLI::App& app);

/// "there is no command 'x'; the commands are ...", with the subcommands of `command`.
std::string unknown_command(const std::string& given, const CommandText& command);

/// The error in a command line that the parser rejected, and the usage of the command.
std::string refused_text(const CLI::App& app, const CLI::ParseError& error);

}  // namespace mirrortrain::cli
