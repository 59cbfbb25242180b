// What README says can be tried as it stands there.
#include <doctest/doctest.h>

#include <algorithm>

#include "cli/program.h"
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

TEST_CASE("README's configuration runs as pasted, and its editor line names a schema that the program writes") {
  const std::string readme = read_text_file(repository_file("README.md"));
  const std::size_t begin = readme.find("```yaml\n");
  REQUIRE(begin != std::string::npos);
  const std::string pasted = readme.substr(begin + 8, readme.find("```", begin + 8) - begin - 8);
  TemporaryFolder folder;
  fs::create_directory_symlink(repository_file("data"), folder / "data");
  write_file(folder / "pasted.yaml", pasted);
  const Outcome outcome = run_program(folder, "fit pasted.yaml --set training.steps=2");
  CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
  CHECK(outcome.out.starts_with("test: loss "));
  CHECK_FALSE(contains(outcome.err, "warning"));
  CHECK(contains(readme, "`mirrortrain config schema >\nmirrortrain.schema.json`"));
  CHECK(contains(readme, "# yaml-language-server: $schema=mirrortrain.schema.json"));
}

}  // namespace
}  // namespace mirrortrain::testing
