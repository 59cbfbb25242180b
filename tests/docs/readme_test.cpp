// What README.md and pages of docs/ show is what the program does.
#include <doctest/doctest.h>

#include <algorithm>

#include "cli/program.h"
#include "docs/markdown.h"
#include "error_text.h"

namespace mirrortrain::testing {
namespace {

/// What a table's lines begin with, without their numbers.
std::vector<std::string> names_of_lines(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t start = 0; start < text.size(); start = text.find('\n', start) + 1) {
    const std::string line = text.substr(start, text.find('\n', start) - start);
    names.push_back(line.substr(0, std::min(line.find("  "), line.find(": "))));
    if (text.find('\n', start) == std::string::npos) break;
  }
  return names;
}

TEST_CASE("docs/performance.md shows the tables that --profile prints") {
  const std::string docs = read_text_file(repository_file("docs/performance.md"));
  const std::string prompt = "$ mirrortrain fit configs/tiny.yaml ";
  const std::size_t begin = docs.find(prompt);
  REQUIRE(begin != std::string::npos);
  const std::size_t first = docs.find('\n', begin) + 1;
  const std::string arguments = docs.substr(begin + prompt.size(), first - 1 - begin - prompt.size());
  TemporaryFolder folder;
  const Outcome outcome = run_program(folder, "fit " + repository_file("configs/tiny.yaml") + " " + arguments);
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  CHECK(names_of_lines(outcome.out) == names_of_lines(docs.substr(first, docs.find("```", first) - first)));
  for (const char* const header :
       {"forward  backward        ms  share  GFLOP/s  GB/s\n", "action                              ms  share\n"}) {
    CHECK(contains(outcome.out, header));
    CHECK(contains(docs, header));
  }
}

/// Trains the page's first configuration as it is pasted into a file beside the repository's data.
void fit_as_pasted(const std::string& page, const std::string& options) {
  CAPTURE(page);
  const std::vector<std::string> blocks = code_blocks(read_text_file(repository_file(page)), "yaml");
  REQUIRE_FALSE(blocks.empty());
  TemporaryFolder folder;
  fs::create_directory_symlink(repository_file("data"), folder / "data");
  write_file(folder / "pasted.yaml", blocks[0]);
  const Outcome outcome = run_program(folder, "fit pasted.yaml " + options);
  CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
  CHECK(outcome.out.starts_with("test: loss "));
  CHECK_FALSE(contains(outcome.err, "warning"));
}

TEST_CASE("the first configurations of README.md and docs/configure.md run as pasted") {
  fit_as_pasted("README.md", "");
  fit_as_pasted("docs/configure.md", "--set training.steps=2");
}

TEST_CASE("README.md is short, and says that nothing has run on a GPU") {
  const std::string readme = read_text_file(repository_file("README.md"));
  CHECK(std::ranges::count(readme, '\n') <= 100);
  CHECK(contains(readme, "Nothing of the GPU side has run on a GPU yet"));
}

TEST_CASE("docs/configure.md names for editors the schema that the program writes") {
  const std::string page = read_text_file(repository_file("docs/configure.md"));
  CHECK(contains(page, "mirrortrain config schema > mirrortrain.schema.json\n"));
  CHECK(contains(page, "# yaml-language-server: $schema=mirrortrain.schema.json\n"));
}

}  // namespace
}  // namespace mirrortrain::testing
