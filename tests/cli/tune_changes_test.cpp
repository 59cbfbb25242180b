// What changes while a study runs, or between two calls, and what would be trained in vain.
#include <doctest/doctest.h>

#include "cli/small_study.h"
#include "error_text.h"

namespace mirrortrain::testing::tune_changes_test {
namespace {

using nlohmann::json;

/// A study on a table.
struct Fixture : SmallStudy {
  Fixture() {
    write_table("table.csv", 1);
    write_file(folder / "net.yaml", replaced(kNet, "{format: synthetic, examples: 96, shape: [4], classes: 3, seed: 1}",
                                             "{format: csv, file: table.csv, labels: class}") +
                                        replaced(kSearch, "trials: 13", "trials: 4"));
  }

  void write_table(const std::string& name, int seed) {
    std::string text = "a,b,c,d,class\n";
    unsigned state = static_cast<unsigned>(seed);
    const auto next = [&] { return (state = state * 1664525U + 1013904223U) >> 8; };
    for (int row = 0; row < 96; ++row) {
      for (int column = 0; column < 4; ++column) text += fmt::format("{:.3f},", next() % 1000 / 1000.0);
      text += fmt::format("{}\n", row % 3);
    }
    write_file(folder / name, text);
  }
};

TEST_CASE_FIXTURE(Fixture, "data that changed between two calls are noticed before the first trial") {
  const json first = trained("net.yaml --run-dir study");
  const std::string journal = bytes("study/journal.jsonl"), table = bytes("table.csv");
  write_table("table.csv", 2);
  const Outcome changed = tune("net.yaml --run-dir study --set search.trials=8");
  CHECK(changed.exit_code == 2);
  CHECK_MESSAGE(contains(changed.err, "study: the data changed since the study began: data.train, in the features"),
                changed.err);
  CHECK(contains(changed.err, "table.csv"));
  CHECK(contains(changed.err, "give the study its data again, or start a new one with another --run-dir"));
  CHECK(bytes("study/journal.jsonl") == journal);
  // The same bytes at another time are the same data.
  write_file(folder / "table.csv", table);
  const json more = trained("net.yaml --run-dir study --set search.trials=8");
  REQUIRE(more["trials"].size() == 8);
  for (std::size_t i = 0; i < 4; ++i) CHECK(more["trials"][i] == first["trials"][i]);
}

TEST_CASE_FIXTURE(Fixture, "data that change while a study runs end it, and none of its trials have them") {
  const json expected = trained("net.yaml --run-dir whole --set training.epochs=30");
  write_table("other.csv", 2);
  const Outcome outcome = run_script(folder, R"(
    cp table.csv kept.csv
    "$MIRRORTRAIN" tune net.yaml --run-dir parts --set training.epochs=30 -q & study=$!
    until [ -s parts/trial-0001/metrics.jsonl ] || ! [ -e /proc/$study/exe ]; do sleep 0.01; done
    mv other.csv table.csv
    wait $study
    status=$?
    cp kept.csv table.csv
    exit $status)");
  CHECK(outcome.exit_code == 2);
  CHECK_MESSAGE(contains(outcome.err, "table.csv was changed while the study was running"), outcome.err);
  CHECK(trained("net.yaml --run-dir parts --set training.epochs=30") == expected);
  CHECK(bytes("parts/best/model.safetensors") == bytes("whole/best/model.safetensors"));
}

TEST_CASE_FIXTURE(Fixture,
                  "a grid is not continued with its parameters in another order, nor a trial's folder taken by fit") {
  constexpr const char* kGrid = R"(
search:
  sampler: grid
  parameters:
    optimizer.learning_rate: {values: [0.01, 0.1]}
    model.layers[0].dense.units: {values: [4, 16]}
)";
  write("grid.yaml", kGrid);
  trained("grid.yaml --run-dir study");
  const std::string rate = "    optimizer.learning_rate: {values: [0.01, 0.1]}\n",
                    units = "    model.layers[0].dense.units: {values: [4, 16]}\n";
  write("other.yaml", replaced(kGrid, rate + units, units + rate));
  const Outcome other = tune("other.yaml --set name=grid --run-dir study");
  CHECK(other.exit_code == 2);
  CHECK_MESSAGE(contains(other.err, "search.parameters are in another order"), other.err);
  write("plain.yaml", "");
  const Outcome taken = run_program(folder, "fit plain.yaml --run-dir study/trial-0009");
  CHECK(taken.exit_code == 2);
  CHECK_MESSAGE(contains(taken.err, "a trial of the study"), taken.err);
}

TEST_CASE_FIXTURE(Fixture, "a trial that was trained on other data is none, though the data are back at its end") {
  // Long enough for the study to be stopped in the first trial.
  const std::string slow = " --set search.parallel=1 --set training.epochs=400";
  const json expected = trained("net.yaml --run-dir whole" + slow);
  write_table("other.csv", 2);
  // While the study's process is stopped, the trial's run becomes one on other data.
  const Outcome outcome = run_script(folder, "set -- net.yaml" + slow + R"(
    cp table.csv kept.csv
    "$MIRRORTRAIN" tune "$@" --run-dir parts -q & study=$!
    until [ -d parts/trial-0001 ] || ! [ -e /proc/$study/exe ]; do :; done
    kill -STOP $study
    until [ -e parts/trial-0001/summary.json ]; do sleep 0.01; done
    while [ -e parts/trial-0001/run.lock ]; do sleep 0.01; done
    cp other.csv table.csv
    "$MIRRORTRAIN" fit "$@" --set search=null --run-dir elsewhere -q > /dev/null
    cp kept.csv table.csv
    rm -r parts/trial-0001
    mv elsewhere parts/trial-0001
    kill -CONT $study
    wait $study)");
  CHECK(outcome.exit_code == 2);
  CHECK_MESSAGE(contains(outcome.err,
                         "parts/trial-0001: the data were changed for a while as the study was running, and this run "
                         "was trained on other ones: data.train, in the features"),
                outcome.err);
  CHECK_FALSE(fs::exists(folder / "parts/trial-0001"));
  CHECK(trained("net.yaml --run-dir parts" + slow) == expected);
  CHECK(bytes("parts/best/model.safetensors") == bytes("whole/best/model.safetensors"));
}

TEST_CASE_FIXTURE(Fixture, "a run that is killed while the data change is removed") {
  write_table("other.csv", 2);
  const Outcome outcome = run_script(folder, R"(
    "$MIRRORTRAIN" tune net.yaml --set search.parallel=1 --set training.epochs=4000 --run-dir study -q & study=$!
    until [ -s study/trial-0001/metrics.jsonl ] || ! [ -e /proc/$study/exe ]; do sleep 0.01; done
    kill -STOP $study
    kill -KILL $(cat /proc/$study/task/*/children)
    mv other.csv table.csv
    kill -CONT $study
    wait $study)");
  CHECK(outcome.exit_code == 2);
  CHECK_MESSAGE(contains(outcome.err, "table.csv was changed while the study was running"), outcome.err);
  CHECK_FALSE(fs::exists(folder / "study/trial-0001"));
}

TEST_CASE_FIXTURE(Fixture, "best leads to a run that is there, though the best one was removed as its data changed") {
  write_table("other.csv", 2);
  write_file(folder / "asked.yaml", bytes("net.yaml").substr(0, bytes("net.yaml").find("search:")) +
                                        "search: {sampler: external, parameters: {optimizer.learning_rate: {values: "
                                        "[1.0e-6, 0.05]}}}\n");
  const auto request = [](const char* rate, int epochs) {
    return fmt::format("{{\"parameters\": {{\"optimizer.learning_rate\": {}}}, \"epochs\": {}}}\n", rate, epochs);
  };
  write_file(folder / "both.jsonl", request("1.0e-6", 4) + request("0.05", 4));
  write_file(folder / "further.jsonl", request("0.05", 300));
  const Outcome outcome = run_script(folder, R"sh(
    set -- asked.yaml --set training.epochs=300 --run-dir study -q
    "$MIRRORTRAIN" tune "$@" < both.jsonl > /dev/null
    readlink study/best
    "$MIRRORTRAIN" tune "$@" < further.jsonl > /dev/null & study=$!
    until [ "$(grep -c '"event": "epoch"' study/trial-0002/metrics.jsonl)" -gt 5 ] || ! [ -e /proc/$study/exe ]; do
      sleep 0.01
    done
    mv other.csv table.csv
    wait $study
    status=$?
    readlink study/best
    exit $status)sh");
  CHECK_MESSAGE(outcome.exit_code == 2, outcome.err);
  CHECK(outcome.out == "trial-0002\ntrial-0001\n");
  CHECK_FALSE(fs::exists(folder / "study/trial-0002"));
  CHECK(fs::exists(folder / "study/best/model.safetensors"));
}

TEST_CASE_FIXTURE(Fixture, "files that only the values of parameters name are the study's data, too") {
  write_table("valid.csv", 3);
  write_table("more.csv", 4);
  write_file(
      folder / "files.yaml",
      bytes("net.yaml").substr(0, bytes("net.yaml").find("search:")) +
          "search: {trials: 2, sampler: grid, parameters: {data.train.file: {values: [table.csv, more.csv]}}}\n");
  const std::string study =
      "files.yaml --run-dir study -q --set 'data.validation={format: csv, file: valid.csv, labels: class}'";
  const json first = trained(study);
  CHECK(first["trials"].size() == 2);
  CHECK(first["trials"][0]["value"] != first["trials"][1]["value"]);
  CHECK(trained(study) == first);
  write_table("more.csv", 5);
  const Outcome changed = tune(study);
  CHECK(changed.exit_code == 2);
  CHECK_MESSAGE(contains(changed.err, "study: the data changed since the study began: in a file that the values of"),
                changed.err);
}

TEST_CASE_FIXTURE(Fixture, "data that cannot be read leave no folder of a study behind") {
  write_file(folder / "table.csv", bytes("table.csv") + "0.1,0.2,0.3\n");
  const Outcome broken = tune("net.yaml --run-dir study");
  CHECK(broken.exit_code != 0);
  CHECK_MESSAGE(contains(broken.err, "table.csv"), broken.err);
  CHECK_FALSE(fs::exists(folder / "study"));
}

TEST_CASE_FIXTURE(Fixture, "a study that is done writes no file of hyperparameters again") {
  trained("net.yaml --run-dir study");
  std::vector<std::pair<fs::path, fs::file_time_type>> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder / "study")) {
    const bool is_of_study =
        entry.path().string().find("trial-") == std::string::npos || contains(entry.path().string(), "hparams");
    if (is_of_study && contains(entry.path().filename().string(), "tfevents")) {
      files.emplace_back(entry.path(), entry.last_write_time());
    }
  }
  CHECK(files.size() == 5);
  trained("net.yaml --run-dir study");
  for (const auto& [file, time] : files) CHECK(fs::last_write_time(file) == time);
}

TEST_CASE_FIXTURE(Fixture, "fit does not resume a trial of a study, but a copy of it") {
  REQUIRE(trained("net.yaml --run-dir study")["trials"].size() == 4);
  for (const std::string run : {"study/trial-0002", "study/best"}) {
    const Outcome refused = run_program(folder, "fit --resume " + run + " --set training.epochs=9");
    CHECK(refused.exit_code == 2);
    CHECK_MESSAGE(contains(refused.err, run + ": this run is a trial of the study "), refused.err);
    CHECK(contains(refused.err, "train a copy further: cp -r " + run + "/ COPY, then mirrortrain fit --resume COPY"));
  }
  const Outcome copied =
      run_script(folder, "cp -r study/best/ copy && \"$MIRRORTRAIN\" fit --resume copy --set training.epochs=9 -q");
  CHECK_MESSAGE(copied.exit_code == 0, copied.err);
  CHECK(contains(bytes("copy/run.log"), "resuming from step"));
}

TEST_CASE_FIXTURE(Fixture, "keys of the training data are searched where the validation data stay the same") {
  const auto error = [&](const std::string& parameter) {
    write_file(folder / "one.yaml", bytes("net.yaml").substr(0, bytes("net.yaml").find("search:")) +
                                        "search: {trials: 2, sampler: random, parameters: {" + parameter + "}}\n");
    return run_program(folder, "config check one.yaml").err;
  };
  const std::string drawn = "the validation data are taken from the training data, and trials are compared on the same";
  CHECK(contains(error("data.train: {values: [{format: csv, file: table.csv, labels: class}]}"), drawn));
  CHECK(contains(error("data.train.file: {values: [table.csv]}"), drawn));
  CHECK(contains(error("data.train.labels: {values: [class]}"), drawn));
  CHECK(error("data.train.missing: {values: [mean, error]}") == "");
  CHECK(error("data.preprocessing: {values: [[], [normalization: {adapt: true}]]}") == "");
  CHECK(
      contains(error("data.on_bad_example: {values: [skip, error]}"), "the validation data would have other examples"));
  CHECK(
      contains(error("training.time_limit: {values: [1s, 2s]}"), "the time limit is the whole study's, not a trial's"));
}

TEST_CASE_FIXTURE(Fixture, "a metric or a file that some values do not have is reported before the first trial") {
  const auto error = [&](const std::string& parameter, const std::string& settings) {
    write_file(folder / "one.yaml",
               bytes("net.yaml").substr(0, bytes("net.yaml").find("search:")) +
                   "search: {trials: 2, metric: {metric: accuracy}, sampler: random, parameters: {" + parameter +
                   "}}\n");
    const Outcome outcome = tune("one.yaml --run-dir study " + settings);
    CHECK(outcome.exit_code == 2);
    CHECK_FALSE(fs::exists(folder / "study"));
    return outcome.err;
  };
  CHECK(contains(error("metrics: {values: [[accuracy], [{type: top_k_categorical_accuracy, k: 2}]]}", ""),
                 "search.parameters.metrics: a trial with "));
  CHECK(contains(error("metrics: {values: [[accuracy], []]}", ""), "expected loss or one of the run's metrics"));
  CHECK(contains(error("data.train.file: {values: [table.csv, gone.csv]}",
                       "--set 'data.validation={format: csv, file: table.csv, labels: class}'"),
                 "search.parameters.data.train.file: a trial with gone.csv would fail: "));
}

TEST_CASE_FIXTURE(Fixture, "config show says where listed values are written") {
  write_file(folder / "one.yaml",
             bytes("net.yaml").substr(0, bytes("net.yaml").find("search:")) +
                 "search:\n  trials: 2\n  parameters:\n    optimizer:\n      values:\n        - adam\n"
                 "        - type: sgd\n          momentum: 0.5\n");
  const std::string shown = run_program(folder, "config show one.yaml").out;
  const auto origin_of = [&](const std::string& line) {
    const std::size_t at = shown.find(line);
    REQUIRE_MESSAGE(at != std::string::npos, line);
    const std::size_t comment = shown.find("# ", at);
    return shown.substr(comment + 2, shown.find('\n', at) - comment - 2);
  };
  const std::string file = bytes("one.yaml");
  const auto line_of = [&](const std::string& text) {
    return fmt::format("one.yaml:{}",
                       1 + std::count(file.begin(), file.begin() + static_cast<long>(file.find(text)), '\n'));
  };
  CHECK(origin_of("        - adam") == line_of("- adam"));
  CHECK(origin_of("        - type: sgd") == line_of("- type: sgd"));
  CHECK(origin_of("          momentum: 0.5") == line_of("momentum: 0.5"));
}

TEST_CASE_FIXTURE(Fixture, "a search has as many trials as there are combinations of values") {
  write("net.yaml",
        "search: {trials: 40, sampler: tpe, parameters: {optimizer.learning_rate: {values: [0.01, 0.1]}, "
        "\"model.layers[0].dense.units\": {min: 4, max: 6}}}");
  const Outcome outcome = tune("net.yaml --run-dir study --json trials.json");
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  CHECK(
      contains(outcome.err, "search.trials: the parameters have 6 combinations of values, so that there are as many"));
  CHECK(trials("trials.json")["trials"].size() == 6);
}

TEST_CASE_FIXTURE(Fixture, "a full stdout and stderr end commands with an error, not with a crash") {
  for (const std::string command :
       {"fit gone.yaml", "fit net.yaml --run-dir run", "eval run --split validation", "predict run --split train",
        "report run -o page.html", "tune net.yaml", "runs", "config show net.yaml", "--help", "nonsense"}) {
    CAPTURE(command);
    const Outcome outcome = run_script(folder, "\"$MIRRORTRAIN\" " + command + " > /dev/full 2>&1");
    CHECK(outcome.exit_code != 134);
    CHECK(outcome.exit_code < 128);
    // What only logs has done its work; results that are lost are an error.
    const bool has_no_results = command.starts_with("fit net") || command.starts_with("report");
    if (!has_no_results) CHECK(outcome.exit_code != 0);
  }
}

}  // namespace
}  // namespace mirrortrain::testing::tune_changes_test
