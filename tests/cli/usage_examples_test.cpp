// The examples that the help of a command ends with.
#include <doctest/doctest.h>
#include <wordexp.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/launched_command.h"
#include "cli/logging.h"
#include "cli/options.h"
#include "cli/usage.h"
#include "temporary_folder.h"

namespace mirrortrain::testing {
namespace {

/// The words of a command line, as a shell has them.
std::vector<std::string> words_of(const std::string& line) {
  wordexp_t found{};
  REQUIRE_MESSAGE(::wordexp(line.c_str(), &found, WRDE_NOCMD | WRDE_UNDEF) == 0, line);
  std::vector<std::string> words(found.we_wordv, found.we_wordv + found.we_wordc);
  ::wordfree(&found);
  return words;
}

/// Thrown when a command line is parsed, before its command would run. The commands' own callbacks have to stay: they
/// own what the options are written to.
struct Parsed {};

/// What the parser says against a command line; empty if nothing.
std::string refusal_of(const std::string& line) {
  CLI::App app("", "mirrortrain");
  int unused = 0;
  app.require_subcommand(1);
  cli::add_commands(app, unused);
  cli::add_output_options(app);
  app.parse_complete_callback([] { throw Parsed(); });
  const std::vector<std::string> all = words_of(line);
  try {
    if (all.empty() || all[0] != "mirrortrain") return "it does not begin with mirrortrain";
    const std::vector<std::string> words = cli::launched_apart(app, {all.begin() + 1, all.end()});
    cli::refuse_empty_texts(app, words);
    try {
      app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    } catch (const Parsed&) {
    }
    const auto launched = std::ranges::find(words, "--");
    if (launched != words.end()) cli::read_launched_command({launched + 1, words.end()}, unused);
    return unused == 0 ? "" : "the launched command is refused";
  } catch (const CLI::ParseError& error) {
    return cli::refused_text(app, error);
  } catch (const UsageError& error) {
    return error.what();
  }
}

void check_examples(const cli::CommandText& command, int& examples) {
  for (const cli::CommandText& inner : command.commands) check_examples(inner, examples);
  if (!command.commands.empty()) {
    CHECK_MESSAGE(command.examples.empty(), command.name);
    return;
  }
  CHECK_MESSAGE(!command.examples.empty(), command.name);
  CHECK(cli::help_text(command, 80).ends_with(command.examples.back() + "\n"));
  for (const std::string& example : command.examples) {
    CHECK_MESSAGE(example.starts_with(command.name), example);
    CHECK_MESSAGE(example.size() + 2 <= 80, example);
    CHECK_MESSAGE(refusal_of(example) == "", example);
    ++examples;
  }
}

TEST_CASE("the help of every command ends with examples, which its parser takes") {
  const TemporaryFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());  // options for output files try whether they can be written
  CLI::App app("", "mirrortrain");
  int unused = 0, examples = 0;
  cli::add_commands(app, unused);
  check_examples(cli::describe(app), examples);
  CHECK(examples > 30);
  CHECK(refusal_of("mirrortrain fit birds.yaml --epoch 3") != "");
  CHECK(refusal_of("mirrortrain launch --workers 2 -- fit") != "");
  std::filesystem::current_path(before);
}

}  // namespace
}  // namespace mirrortrain::testing
