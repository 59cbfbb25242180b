// Every option that the pages write behind a command is one that the command has.
#include <doctest/doctest.h>

#include <regex>

#include "cli/program.h"
#include "docs/markdown.h"
#include "error_text.h"

namespace mirrortrain::testing {
namespace {

/// A command as a page has it, `config check`, and the options behind it.
struct ShownCommand {
  std::string name;
  std::vector<std::string> options;
};

/// What follows of a command line up to the command that `launch` starts, which has options of its own.
std::string own_arguments(const std::string& name, const std::string& arguments) {
  static const std::regex started(" (--|fit|eval|predict) ");
  std::smatch match;
  return name == "launch" && std::regex_search(arguments, match, started) ? match.prefix().str() : arguments;
}

std::vector<ShownCommand> commands_in(const std::string& line) {
  static const std::regex command("mirrortrain ([a-z-]+( (list|clean|check|show|schema|reference)\\b)?)([^`|#;]*)");
  static const std::regex option("(^|\\s)(--[a-z][a-z-]*)");
  std::vector<ShownCommand> commands;
  for (std::sregex_iterator at(line.begin(), line.end(), command), end; at != end; ++at) {
    ShownCommand shown{(*at)[1], {}};
    const std::string arguments = own_arguments(shown.name, (*at)[4]);
    for (std::sregex_iterator of(arguments.begin(), arguments.end(), option); of != end; ++of) {
      shown.options.push_back((*of)[2]);
    }
    if (!shown.options.empty()) commands.push_back(shown);
  }
  return commands;
}

bool has_option(const std::string& help, const std::string& option) {
  return contains(help, option + " ") || contains(help, option + "\n") || contains(help, option + ":");
}

TEST_CASE("the options that the pages show are those of their commands") {
  TemporaryFolder folder;
  std::map<std::string, std::string> help;
  int options = 0;
  for (const fs::path& path : all_pages()) {
    std::istringstream lines(read_text_file(root() / path));
    for (std::string line; std::getline(lines, line);) {
      for (const ShownCommand& command : commands_in(line)) {
        if (!help.contains(command.name)) help[command.name] = run_program(folder, command.name + " -h").out;
        for (const std::string& option : command.options) {
          ++options;
          CHECK_MESSAGE(has_option(help[command.name], option), path.string(), ": ", command.name, " ", option);
        }
      }
    }
  }
  CHECK(options > 100);
}

TEST_CASE("docs/commands.md has every command") {
  TemporaryFolder folder;
  const std::string page = read_text_file(repository_file("docs/commands.md"));
  const std::string refusal = run_program(folder, "nothing").err, before = "the commands are ";
  const std::size_t begin = refusal.find(before) + before.size();
  REQUIRE(contains(refusal, before));
  std::istringstream names(refusal.substr(begin, refusal.find_first_of(";\n", begin) - begin));
  for (std::string name; std::getline(names >> std::ws, name, ',');) {
    CHECK_MESSAGE(contains(page, "| `mirrortrain " + name), name);
  }
}

TEST_CASE("commands are found in a line with their own options alone") {
  const auto commands =
      commands_in("`mirrortrain launch --workers 2 -- fit a.yaml --set b=1` or `mirrortrain config check --no-data`");
  REQUIRE(commands.size() == 2);
  CHECK(commands[0].name == "launch");
  CHECK(commands[0].options == std::vector<std::string>{"--workers"});
  CHECK(commands[1].name == "config check");
  CHECK(commands[1].options == std::vector<std::string>{"--no-data"});
}

}  // namespace
}  // namespace mirrortrain::testing
