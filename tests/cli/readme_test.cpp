// What README says can be tried as it stands there.
#include <doctest/doctest.h>

#include "cli/program.h"
#include "error_text.h"

namespace mirrortrain::testing {
namespace {

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
