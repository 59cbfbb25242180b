// The commands of pages run as they are pasted: every ```sh block of a page, in order, in one folder that has the
// repository's configs/, data/ and tests/ in it, with the program on the PATH.
#include <doctest/doctest.h>

#include "cli/program.h"
#include "docs/markdown.h"
#include "error_text.h"

namespace mirrortrain::testing {
namespace {

/// The page as one script that ends at the first command that fails.
std::string script_of(const std::string& page) {
  std::string script = "set -e\nPATH=\"$(dirname \"$MIRRORTRAIN\"):$PATH\"\n";
  for (const std::string& block : code_blocks(read_text_file(repository_file(page)), "sh")) script += block;
  return script;
}

struct Clone {
  Clone() {
    for (const char* name : {"configs", "data", "tests"}) {
      fs::create_directory_symlink(repository_file(name), folder / name);
    }
  }
  /// What the page's commands print; they leave `files`.
  Outcome run(const std::string& page, const std::vector<std::string>& files) {
    const Outcome outcome = run_script(folder, script_of(page));
    CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
    for (const std::string& file : files) CHECK_MESSAGE(fs::exists(folder / file), file);
    return outcome;
  }

  TemporaryFolder folder;
};

TEST_CASE_FIXTURE(Clone, "docs/tasks/table.md: from a table to predictions") {
  const Outcome outcome =
      run("docs/tasks/table.md", {"predictions.csv", "birds.onnx", "runs/birds/report.html", "runs/birds-sweep"});
  CHECK(contains(outcome.out, "test: loss "));
  CHECK(contains(read_text_file(folder / "predictions.csv"), "probability_blue tit"));
}

TEST_CASE_FIXTURE(Clone, "docs/tasks/pictures.md: from a folder of pictures to predictions") {
  const Outcome outcome = run("docs/tasks/pictures.md", {"shapes.onnx", "runs/shapes/report.html", "runs/shapes-2"});
  CHECK(contains(outcome.out, "index,prediction,name,file\n"));
}

TEST_CASE_FIXTURE(Clone, "docs/tasks/texts.md: texts with a label, and a language model") {
  const Outcome outcome = run("docs/tasks/texts.md", {"runs/text-column/model.safetensors"});
  CHECK(contains(outcome.out, "praise,the plot was very good\n"));
  CHECK(contains(outcome.out, "blame,honestly the acting was not great\n"));
}

TEST_CASE_FIXTURE(Clone, "docs/tasks/cluster.md: two workers on this machine") {
  const Outcome outcome = run("docs/tasks/cluster.md", {"runs/multi-worker-fashion/model.safetensors"});
  CHECK(contains(outcome.out, "# worker 1 on node2"));
}

TEST_CASE_FIXTURE(Clone, "docs/tasks/from-keras.md: a model of Keras, in and out") {
  run("docs/tasks/from-keras.md", {"model.safetensors", "trained.keras"});
}

TEST_CASE_FIXTURE(Clone, "docs/tasks/from-pytorch-lightning.md: a LightningModule as a configuration") {
  const Outcome outcome = run("docs/tasks/from-pytorch-lightning.md", {"runs/clothes/checkpoints/best"});
  CHECK(contains(outcome.out, "validation: loss "));
}

TEST_CASE_FIXTURE(Clone, "docs/configure.md: check, show and change a configuration") {
  run("docs/configure.md", {"mirrortrain.schema.json", "runs/tiny-sweep"});
}

TEST_CASE_FIXTURE(Clone, "configs/README.md: an example, and the same with other values") {
  run("configs/README.md", {"runs/tiny", "runs/tiny-2"});
}

TEST_CASE("every page of docs/tasks has a test here, and commands to run") {
  const std::string tests = read_text_file(repository_file("tests/docs/pages_test.cpp"));
  for (const auto& entry : fs::directory_iterator(repository_file("docs/tasks"))) {
    const std::string page = "docs/tasks/" + entry.path().filename().string();
    CHECK_MESSAGE(contains(tests, "run(\"" + page + "\""), page);
    CHECK_MESSAGE(!code_blocks(read_text_file(entry.path()), "sh").empty(), page);
  }
}

}  // namespace
}  // namespace mirrortrain::testing
