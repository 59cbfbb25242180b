// What commands write takes the place of nothing that is somebody's own: inputs, runs, other files.
#include <doctest/doctest.h>

#include "cli/program.h"
#include "error_text.h"

namespace mirrortrain::testing::outputs_test {
namespace {

/// A trained run in run/, its configuration and its data.
struct Trained {
  TemporaryFolder folder;
  Trained() {
    write_file(folder / "a.csv", "a,y\n1,1\n2,2\n3,2\n");
    write_file(folder / "net.yaml", R"(# my own comment
data: {global_batch_size: 3, train: {format: csv, file: a.csv, labels: y}}
model: {input_shape: [1], layers: [dense: {units: 1}]}
loss: mean_squared_error
optimizer: sgd
logging: {report: false, tensorboard: false}
)");
    REQUIRE(run_program(folder, "fit net.yaml --run-dir run -q").exit_code == 0);
  }
  std::string text(const fs::path& file) const { return read_text_file(folder / file); }
  /// Everything that a command must not replace, by its file.
  std::map<std::string, std::string> kept() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder.path())) {
      if (entry.is_regular_file()) files[entry.path().string()] = read_text_file(entry.path());
    }
    return files;
  }
};

TEST_CASE_FIXTURE(Trained, "no command replaces what it reads, through links neither") {
  fs::create_symlink("a.csv", folder / "link.csv");
  fs::create_hard_link(folder / "a.csv", folder / "hard.csv");
  fs::create_symlink("nothing/../link.csv", folder / "twice.csv");
  const auto before = kept();
  for (const std::string target : {"a.csv", "link.csv", "hard.csv", "./run/../a.csv"}) {
    for (const std::string& command : std::vector<std::string>{
             "predict run --data a.csv --output " + target, "predict run --split train --output " + target,
             "eval run --split train --json " + target, "fit net.yaml --run-dir other --profile --json " + target}) {
      CAPTURE(command);
      const Outcome outcome = run_program(folder, command);
      CHECK(outcome.exit_code == 2);
      CHECK_MESSAGE(contains(outcome.err, target + ": this file is read here, and the result would replace it"),
                    outcome.err);
    }
  }
  for (const std::string& command : std::vector<std::string>{
           "fit net.yaml --run-dir other --profile --json net.yaml", "plan net.yaml --workers 2 --json net.yaml",
           "bench-allreduce --devices cpu:0,cpu:1 -e 1K --from net.yaml --json net.yaml"}) {
    CAPTURE(command);
    CHECK(run_program(folder, command).exit_code == 2);
  }
  CHECK(kept() == before);
}

TEST_CASE_FIXTURE(Trained, "no command replaces a file of a run, through links neither") {
  fs::create_symlink("run/metrics.jsonl", folder / "link.json");
  fs::create_directory_symlink("run", folder / "way");
  const auto before = kept();
  for (const std::string name :
       {"run/metrics.jsonl", "run/config.yaml", "run/summary.json", "run/run.log", "run/model.safetensors", "link.json",
        "way/metrics.jsonl", "run/checkpoints/step-000001/state.json", "run/checkpoints/new.json"}) {
    for (const std::string& command : std::vector<std::string>{"eval run --split train --json ", "runs . --json ",
                                                               "report run -o ", "plan net.yaml --workers 2 --json "}) {
      CAPTURE(command);
      CAPTURE(name);
      const Outcome outcome = run_program(folder, command + name);
      CHECK(outcome.exit_code == 2);
      CHECK_MESSAGE(contains(outcome.err, " of the run "), outcome.err);
    }
  }
  CHECK(kept() == before);
  CHECK(run_program(folder, "eval run --split train --json run/eval.json").exit_code == 0);
  CHECK(run_program(folder, "predict run --split train --output run/predictions.csv").exit_code == 0);
  CHECK(run_program(folder, "report run --no-predictions").exit_code == 0);
  CHECK(run_program(folder, "report run --no-predictions").exit_code == 0);  // its own page again
}

TEST_CASE_FIXTURE(Trained, "a page of one's own keeps its place, and so does a folder that only has a config.yaml") {
  write_file(folder / "run/report.html", "<html>mine</html>");
  const Outcome report = run_program(folder, "report run --no-predictions");
  CHECK(report.exit_code == 2);
  CHECK(contains(report.err,
                 "run/report.html: this is no page of mirrortrain's; keep it, and name another file with -o"));
  CHECK(text("run/report.html") == "<html>mine</html>");

  const std::string resolved = text("run/config.yaml");
  const std::string own = "# mine\n" + text("net.yaml");
  for (const std::string& content : {own, resolved}) {  // written by hand, or copied from a run
    fs::create_directory(folder / "mine");
    write_file(folder / "mine/config.yaml", content);
    write_file(folder / "mine/a.csv", text("a.csv"));
    for (const std::string arguments :
         {"--resume --run-dir \"\"", "--resume --run-dir .", "--resume .", "--run-dir .", "--resume \"\"",
          "--resume ./", "--resume --run-dir ./ --set training.epochs=9"}) {
      CAPTURE(arguments);
      const Outcome outcome = run_script(folder, "cd mine; \"$MIRRORTRAIN\" fit config.yaml " + arguments);
      CHECK(outcome.exit_code == 2);
      CHECK_FALSE(contains(outcome.err, "resume it with --resume"));
      CHECK(text("mine/config.yaml") == content);
      CHECK(std::distance(fs::directory_iterator(folder / "mine"), fs::directory_iterator()) == 2);
    }
    fs::remove_all(folder / "mine");
  }
}

TEST_CASE_FIXTURE(Trained, "an empty text is refused with the option's name, whatever the option") {
  const std::pair<std::string, std::string> rows[] = {{"fit net.yaml --run-dir ''", "--run-dir"},
                                                      {"fit net.yaml --resume ''", "--resume"},
                                                      {"fit net.yaml --run-dir=", "--run-dir"},
                                                      {"fit net.yaml --set ''", "--set"},
                                                      {"fit net.yaml --sweep ''", "--sweep"},
                                                      {"fit ''", "CONFIG"},
                                                      {"eval ''", "RUN_OR_CONFIG"},
                                                      {"eval run --json ''", "--json"},
                                                      {"eval run --checkpoint ''", "--checkpoint"},
                                                      {"eval run --split ''", "--split"},
                                                      {"predict run --data ''", "--data"},
                                                      {"predict run --output ''", "--output"},
                                                      {"report ''", "RUN"},
                                                      {"report run -o ''", "--output"},
                                                      {"runs ''", "DIR"},
                                                      {"init ''", "DATA"},
                                                      {"launch --hosts '' -- fit net.yaml", "--hosts"},
                                                      {"launch --workers 2 -- fit net.yaml --run-dir ''", "--run-dir"},
                                                      {"plan net.yaml --workers ''", "--workers"},
                                                      {"bench-allreduce --devices ''", "--devices"},
                                                      {"verify net.yaml --replicas ''", "--replicas"}};
  for (const auto& [command, option] : rows) {
    CAPTURE(command);
    const Outcome outcome = run_program(folder, command);
    CHECK(outcome.exit_code == 2);
    CHECK_MESSAGE(contains(outcome.err, option + ": expected a value, found an empty text; is a variable unset?"),
                  outcome.err);
  }
  fs::create_symlink("/nowhere/disk", folder / "runs");
  const Outcome link = run_program(folder, "fit net.yaml");
  CHECK(link.exit_code == 1);
  CHECK_MESSAGE(contains(link.err, "runs: it is a symbolic link to /nowhere/disk, which does not exist"), link.err);
}

TEST_CASE_FIXTURE(Trained, "options of the output go before the command and after it") {
  for (const char* const command : {"-q eval run --split train", "eval run --split train -q",
                                    "eval -q run --split train", "--color never -q eval run --split train"}) {
    CAPTURE(command);
    const Outcome outcome = run_program(folder, command);
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.err.empty());
  }
}

TEST_CASE_FIXTURE(Trained, "names that are not UTF-8 are refused before training, or every command takes them") {
  const std::string odd = "caf\xE9";
  fs::create_directory(folder / odd);
  for (const char* const file : {"net.yaml", "a.csv"}) fs::copy_file(folder / file, folder / odd / file);
  const Outcome inside = run_script(folder, "cd " + odd + "; \"$MIRRORTRAIN\" fit net.yaml");
  CHECK(inside.exit_code == 2);
  CHECK_MESSAGE(contains(inside.err, "net.yaml:2:57: data.train.file: "), inside.err);
  CHECK(contains(inside.err, "caf\\xe9/a.csv is not UTF-8"));
  CHECK_FALSE(fs::exists(folder / odd / "runs"));
  fs::copy_file(folder / "net.yaml", folder / (odd + ".yaml"));
  const Outcome named = run_program(folder, "fit " + odd + ".yaml");
  CHECK(named.exit_code == 2);
  CHECK_MESSAGE(contains(named.err, "name: caf\\xe9.yaml is not UTF-8"), named.err);
  CHECK(run_program(folder, "fit " + odd + ".yaml --set name=net").exit_code == 0);
  // A run folder may be called so, from the start or later.
  CHECK(run_program(folder, "fit net.yaml --run-dir r" + odd).exit_code == 0);
  fs::rename(folder / "run", folder / ("moved" + odd));
  for (const std::string& run : {"r" + odd, "moved" + odd}) {
    CAPTURE(run);
    for (const std::string& command : {"eval " + run + " --split train --json -", "predict " + run + " --split train",
                                       "report " + run, std::string("runs . --json -"), "checkpoint check " + run,
                                       "fit --resume " + run + " --set training.epochs=2"}) {
      CAPTURE(command);
      const Outcome outcome = run_program(folder, command);
      CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
    }
  }
  write_file(folder / "pictures.yaml", R"(
data: {global_batch_size: 1, train: {format: image_folder, directory: p}}
model: {input_shape: [1, 1, 3], layers: [flatten, dense: {units: 2}]}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
optimizer: sgd
)");
  fs::create_directories(folder / "p" / odd);
  const Outcome pictures = run_program(folder, "fit pictures.yaml");
  CHECK_MESSAGE(contains(pictures.err, "the name of this class is not UTF-8"), pictures.err);
}

TEST_CASE_FIXTURE(Trained, "a configuration may come through a pipe, with paths from the working directory") {
  for (const std::string& command : std::vector<std::string>{
           "cat net.yaml | \"$MIRRORTRAIN\" config check -", "\"$MIRRORTRAIN\" config check /dev/stdin < net.yaml",
           "cat net.yaml | \"$MIRRORTRAIN\" fit - --run-dir piped", "\"$MIRRORTRAIN\" fit - --dry-run < net.yaml"}) {
    CAPTURE(command);
    const Outcome outcome = run_script(folder, command);
    CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
  }
  CHECK(text("piped/model.safetensors") == text("run/model.safetensors"));
  const Outcome wrong = run_script(folder, "sed s/units/unitz/ net.yaml | \"$MIRRORTRAIN\" config check -");
  CHECK(wrong.exit_code == 2);
  CHECK_MESSAGE(contains(wrong.err, "stdin:3:44: model.layers[0].dense.unitz: unknown key"), wrong.err);
}

TEST_CASE_FIXTURE(Trained, "no command replaces what a run's configuration names, though it reads something else") {
  const std::string before = text("a.csv");
  write_file(folder / "other.csv", before);
  const Outcome outcome = run_script(folder, "\"$MIRRORTRAIN\" predict run --data other.csv --output a.csv");
  CHECK(outcome.exit_code == 2);
  CHECK_MESSAGE(contains(outcome.err, "a.csv: this file is read here, and the result would replace it"), outcome.err);
  CHECK(text("a.csv") == before);
}

TEST_CASE_FIXTURE(Trained, "a result for an open descriptor goes on where that is, and replaces no file") {
  const std::string script =
      "echo before > log; \"$MIRRORTRAIN\" -q eval run --split train --json /dev/stdout >> log; echo after >> log";
  REQUIRE(run_script(folder, script).exit_code == 0);
  const std::string log = text("log");
  CHECK_MESSAGE(log.starts_with("before\n{"), log);
  CHECK(log.ends_with("\nafter\n"));
  const Outcome piped = run_script(folder, "\"$MIRRORTRAIN\" -q eval run --split train --json /dev/fd/1 | cat");
  CHECK_MESSAGE(contains(piped.out, "\"loss\""), piped.err);
}

TEST_CASE_FIXTURE(Trained, "neither predictions nor a configuration are appended to the data that they are made from") {
  const std::string before = text("a.csv");
  for (const char* command : {"predict run --data a.csv", "init a.csv"}) {
    const Outcome outcome = run_script(folder, fmt::format("\"$MIRRORTRAIN\" {} >> a.csv", command));
    CHECK(outcome.exit_code == 2);
    CHECK(text("a.csv") == before);
  }
}

TEST_CASE_FIXTURE(Trained, "a page does not wait for a pipe in its place") {
  fs::remove(folder / "run/report.html");
  REQUIRE(run_script(folder, "mkfifo run/report.html").exit_code == 0);
  const Outcome outcome = run_script(folder, "timeout 20 \"$MIRRORTRAIN\" report run");
  CHECK(outcome.exit_code == 2);
  CHECK_MESSAGE(contains(outcome.err, "report.html: expected a file, found a folder, a pipe or a device"), outcome.err);
}

TEST_CASE_FIXTURE(Trained, "a folder whose name no configuration can hold is refused before training") {
  const Outcome outcome = run_script(folder,
                                     "d=$(printf 'd\\177') && mkdir \"$d\" && cp a.csv net.yaml \"$d\" && cd \"$d\" && "
                                     "\"$MIRRORTRAIN\" fit net.yaml --run-dir r");
  CHECK(outcome.exit_code == 2);
  CHECK_MESSAGE(contains(outcome.err, "has a control character, so that the config.yaml of a run cannot name it"),
                outcome.err);
}

}  // namespace
}  // namespace mirrortrain::testing::outputs_test
