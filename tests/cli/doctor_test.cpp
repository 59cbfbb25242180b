#include <doctest/doctest.h>

#include "cli/program.h"
#include "error_text.h"

namespace mirrortrain::testing::doctor_test {
namespace {

TEST_CASE("doctor looks at this machine, writes JSON, and fails where something is wrong") {
  TemporaryFolder folder;
  const Outcome outcome = run_program(folder, "doctor --json found.json");
  const auto json = parsed(read_text_file(folder / "found.json"));
  CHECK(outcome.exit_code == (json["wrong"] == 0 ? 0 : 1));
  for (const char* const topic :
       {"program\n", "libraries\n", "processor\n", "GPUs\n", "limits\n", "folders\n", "cluster\n"})
    CHECK_MESSAGE(contains(outcome.out, topic), outcome.out);
  CHECK(contains(outcome.out, "oneDNN"));
  CHECK_FALSE(fs::exists(folder / "runs"));  // it is only tried whether one could be made

  const Outcome alone = run_program(folder, "doctor --json -");
  CHECK(parsed(alone.out)["findings"].size() == json["findings"].size());
}

TEST_CASE("doctor finds a variable that is wrong, and shows no token") {
  TemporaryFolder folder;
  const Outcome outcome =
      run_script(folder, "TF_CONFIG='{\"cluster\": 3}' MIRRORTRAIN_TOKEN=hidden-words \"$MIRRORTRAIN\" doctor");
  CHECK(outcome.exit_code == 1);
  CHECK_MESSAGE(contains(outcome.out, "wrong: TF_CONFIG"), outcome.out);
  CHECK_FALSE(contains(outcome.out + outcome.err, "hidden-words"));
}

}  // namespace
}  // namespace mirrortrain::testing::doctor_test
