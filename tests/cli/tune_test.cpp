// Searches for good values, trial by trial.
#include <doctest/doctest.h>

#include <algorithm>

#include "cli/small_study.h"
#include "error_text.h"
#include "has_in_order.h"

namespace mirrortrain::testing::tune_test {
namespace {

using nlohmann::json;

using Fixture = SmallStudy;

TEST_CASE_FIXTURE(Fixture, "tune trains a run for each trial, and the best one is fit of its own configuration") {
  const Outcome outcome = tune("net.yaml --json trials.json --set logging.report=true");
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  const json study = trials("trials.json");
  REQUIRE(study["trials"].size() == 13);
  CHECK(study["metric"] == "loss");
  const json& best = study["trials"][study["best"].get<std::size_t>() - 1];
  for (const json& trial : study["trials"]) {
    CHECK(trial["status"] == "done");
    CHECK(trial["value"] >= best["value"]);
    double least = 1e9;  // of its validation
    for (const json& event : events_of(folder / trial["run"].get<std::string>() / "metrics.jsonl")) {
      if (event["event"] == "epoch") least = std::min(least, event["validation"]["loss"].get<double>());
    }
    CHECK(trial["value"] == least);
  }
  // The table has the best trial first.
  CHECK(outcome.out.starts_with("trial  status      loss       epoch  learning_rate  units\n" +
                                std::to_string(best["trial"].get<int>()) + " "));
  CHECK(std::count(outcome.out.begin(), outcome.out.end(), '\n') == 14);
  CHECK(fs::read_symlink(folder / "runs/net-study/best") == fs::path(best["run"].get<std::string>()).filename());

  REQUIRE(run_program(folder, "fit runs/net-study/best/config.yaml --run-dir again").exit_code == 0);
  CHECK(bytes("again/model.safetensors") == bytes("runs/net-study/best/model.safetensors"));
  CHECK(timeless(events_of(folder / "again/metrics.jsonl")) ==
        timeless(events_of(folder / "runs/net-study/best/metrics.jsonl")));

  const std::string page = bytes("runs/net-study/report.html");
  CHECK(contains(page, "<a href=\"trial-0013/report.html\">13</a>"));
  CHECK(contains(page, "aria-label=\"parameters and validation loss of each trial\""));
  CHECK(fs::exists(folder / "runs/net-study/events.out.tfevents.9999999999.hparams"));
  CHECK(fs::exists(folder / "runs/net-study/trial-0013/events.out.tfevents.9999999999.hparams"));

  // A study that was killed before its last result had made the link makes it when it is called again.
  fs::remove(folder / "runs/net-study/best");
  CHECK(tune("net.yaml --set logging.report=true").exit_code == 0);
  CHECK(fs::read_symlink(folder / "runs/net-study/best") == fs::path(best["run"].get<std::string>()).filename());
  const Outcome fewer = tune("net.yaml --set logging.report=true --set search.trials=5");
  CHECK(fewer.exit_code == 2);
  CHECK_MESSAGE(contains(fewer.err, "search.trials: runs/net-study has 13 trials already, found 5"), fewer.err);

  // The link is no run of its own.
  const Outcome runs = run_program(folder, "runs runs/net-study --json -");
  CHECK(parsed(runs.out)["runs"].size() == 13);
  REQUIRE(run_program(folder, "report net-study --no-predictions -o page.html").exit_code == 0);
  CHECK(contains(bytes("page.html"), "<h1>13 runs</h1>"));
  CHECK(run_program(folder, "eval runs/net-study/best --split validation").exit_code == 0);
}

TEST_CASE_FIXTURE(Fixture, "a study that is killed and continued has the same trials and the same best run") {
  write("halving.yaml", std::string(kSearch) + "  pruner: successive_halving\n");
  write_file(folder / "folds.yaml",
             replaced(kNet, "{fraction: 0.32}", "{folds: 2}") + replaced(kSearch, "trials: 13", "trials: 4"));
  for (const std::string name : {"net", "halving", "folds"}) {
    const json expected = trained(name + ".yaml --run-dir whole-" + name);
    const Outcome outcome = run_script(folder, R"sh(
      lines=0
      for signal in KILL TERM KILL; do
        "$MIRRORTRAIN" tune )sh" + name + R"sh(.yaml --run-dir parts -q & study=$!
        while [ -e /proc/$study/exe ] && [ $(cat parts/journal.jsonl 2> /dev/null | wc -l) -le $lines ]; do
          sleep 0.01
        done
        kill -$signal $study
        wait $study
        status=$?
        case $status in 0|137|143) ;; *) exit $status ;; esac
        lines=$(cat parts/journal.jsonl | wc -l)
      done)sh");
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
    CHECK(trained(name + ".yaml --run-dir parts") == expected);
    const std::string best = name == "folds" ? "/best/fold-2/model.safetensors" : "/best/model.safetensors";
    CHECK(bytes("parts" + best) == bytes("whole-" + name + best));
    fs::remove_all(folder / "parts");
  }
}

TEST_CASE_FIXTURE(Fixture, "a stopped trial is no result, whatever exit code its configuration gives it") {
  for (const std::string code : {"42", "0"}) {
    const std::string study =
        "net.yaml --set search.trials=2 --set training.epochs=200 --set termination.exit_code=" + code;
    const json expected = trained(study + " --run-dir whole-" + code);
    const Outcome outcome = run_script(folder, R"(
      "$MIRRORTRAIN" tune )" + study + " --run-dir parts-" +
                                                   code + R"( -q & study=$!
      until [ -s parts-)" + code + R"(/trial-0002/metrics.jsonl ] || ! [ -e /proc/$study/exe ]; do sleep 0.01; done
      kill -TERM $study
      wait $study)");
    CHECK(outcome.exit_code == std::stoi(code));
    CHECK(contains(outcome.err, "stopped; continue the study with"));
    CHECK(trained(study + " --run-dir parts-" + code) == expected);
  }
}

TEST_CASE_FIXTURE(Fixture, "training.time_limit is the whole study's, whose trials have none") {
  const Outcome outcome = tune("net.yaml --set search.trials=100000 --set training.time_limit=2s --run-dir study -q");
  CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
  CHECK(contains(outcome.err, "stopped; continue the study with"));
  CHECK(contains(bytes("study/trial-0001/config.yaml"), "time_limit: null"));
  CHECK_FALSE(contains(bytes("study/journal.jsonl"), "\"failed\""));
}

TEST_CASE_FIXTURE(Fixture, "a file that is edited meanwhile ends the study, and its trials with checkpoints") {
  const json expected = trained("net.yaml --run-dir whole");
  const Outcome outcome = run_script(folder, R"(
    cp net.yaml kept.yaml
    "$MIRRORTRAIN" tune net.yaml --run-dir parts -q & study=$!
    until [ -s parts/trial-0001/metrics.jsonl ] || ! [ -e /proc/$study/exe ]; do sleep 0.01; done
    sed 's/units: 8/units: 9/' kept.yaml > new.yaml
    mv new.yaml net.yaml
    wait $study
    status=$?
    mv kept.yaml net.yaml
    exit $status)");
  CHECK(outcome.exit_code == 1);
  CHECK(contains(outcome.err, "net.yaml was changed while the study was running: model.layers[0]"));
  CHECK(trained("net.yaml --run-dir parts") == expected);
}

TEST_CASE_FIXTURE(Fixture, "what would make trials incomparable is refused, and regularization in the loss warned of") {
  write("net.yaml", R"(
search:
  trials: 1
  sampler: random
  parameters:
    seed: {min: 0, max: 9}
    data: {values: [{global_batch_size: 16}]}
    loss.from_logits: {values: [true, false]}
)");
  const Outcome outcome = tune("net.yaml --set data.validation.shuffle=true");
  CHECK(outcome.exit_code == 2);
  CHECK(contains(outcome.err, "search.parameters.seed: the seed draws the validation data"));
  CHECK_FALSE(contains(tune("net.yaml").err, "the seed draws"));  // the part is the last of the data
  CHECK(contains(outcome.err, "search.parameters.data: trials are compared on the same validation data"));
  CHECK(contains(outcome.err, "search.parameters.loss.from_logits: trials with different losses"));
  write("net.yaml", R"(
search:
  trials: 1
  sampler: random
  parameters:
    model.layers[0].dense.kernel_regularizer.l2: {min: 1.0e-5, max: 0.1, scale: log}
)");
  const std::string warning = "the loss that trials are compared by includes the regularization";
  CHECK(contains(tune("net.yaml").err, warning));
  CHECK_FALSE(contains(tune("net.yaml --run-dir other --set search.metric.metric=accuracy").err, warning));
}

TEST_CASE_FIXTURE(Fixture, "random has the same trials however many are trained at a time, and tpe each time") {
  const auto with = [&](const std::string& sampler, int parallel, const std::string& to) {
    return trained("net.yaml --set search.sampler=" + sampler + " --set search.parallel=" + std::to_string(parallel) +
                   " --set data.global_batch_size=32 --set strategy.threads_per_replica=1 --run-dir " + to);
  };
  const json random = with("random", 1, "a");
  CHECK(with("random", 4, "b") == random);
  const json tpe = with("tpe", 3, "c");
  CHECK(with("tpe", 3, "d") == tpe);
  CHECK(tpe != random);
}

TEST_CASE_FIXTURE(Fixture, "successive halving resumes the runs of its best trials") {
  write("net.yaml", std::string(kSearch) + "  pruner: {type: successive_halving, reduction_factor: 4}\n");
  const Outcome outcome = tune("net.yaml --json trials.json --run-dir study");
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  CHECK(contains(outcome.err, "round 2 of 2: 3 trials, 4 epochs"));
  const json study = trials("trials.json");
  int done = 0;
  for (const json& trial : study["trials"]) {
    const bool is_done = trial["status"] == "done";
    done += is_done ? 1 : 0;
    CHECK(trial["status"] == (is_done ? "done" : "pruned"));
    CHECK(trial["epochs"] == (is_done ? 4 : 1));
    const std::string log = bytes(trial["run"].get<std::string>() + "/run.log");
    CHECK(contains(log, "resuming from step") == is_done);
  }
  CHECK(done == 3);
  REQUIRE(run_program(folder, "fit study/best/config.yaml --run-dir again").exit_code == 0);
  CHECK(bytes("again/model.safetensors") == bytes("study/best/model.safetensors"));
}

TEST_CASE_FIXTURE(Fixture, "a trial that fails is reported, and the study goes on") {
  write("net.yaml", R"(
search:
  sampler: grid
  metric: {metric: accuracy, mode: max}
  parameters:
    optimizer.learning_rate: {values: [0.05, 1.0e+38]}
    gradients.clip_norm: {values: [1, null]}
    gradients.clip_value: {values: [null, 2]}
)");
  const Outcome outcome = tune("net.yaml --json -");
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  const json study = parsed(outcome.out);
  REQUIRE(study["trials"].size() == 8);
  for (const json& trial : study["trials"]) {
    const json& values = trial["parameters"];
    const bool excludes_itself = !values["gradients.clip_norm"].is_null() && !values["gradients.clip_value"].is_null();
    const bool is_sound = !excludes_itself && values["optimizer.learning_rate"] == 0.05;
    CHECK(trial["status"] == (is_sound ? "done" : "failed"));
    CHECK(trial["value"].is_null() != is_sound);
    if (excludes_itself) CHECK(contains(trial["reason"], "clip_value"));
    if (!excludes_itself && !is_sound) CHECK(contains(trial["reason"], "the loss is infinite"));
  }
  CHECK(contains(outcome.err, "warning: 5 of 8 trials failed"));

  write("wrong.yaml",
        "search: {trials: 2, sampler: random, parameters: {optimizer.learning_rate: {values: [1.0e+38]}}}");
  const Outcome all_failed = tune("wrong.yaml");
  CHECK(all_failed.exit_code == 1);
  CHECK_FALSE(fs::exists(folder / "runs/wrong-study/best"));
}

TEST_CASE_FIXTURE(Fixture, "whole sections are values, and keys of one type are searched where it is chosen") {
  write("net.yaml", R"(
search:
  trials: 12
  sampler: random
  parameters:
    optimizer.momentum: {min: 0, max: 0.9, when: {optimizer.type: sgd}}
    optimizer: {values: [adam, {type: sgd, nesterov: true}]}
    optimizer.learning_rate: {min: 0.01, max: 0.1}
)");
  const json study = trained("net.yaml");
  int of_sgd = 0;
  for (const json& trial : study["trials"]) {
    const bool is_sgd = trial["parameters"]["optimizer"].is_object();
    of_sgd += is_sgd ? 1 : 0;
    CHECK(trial["status"] == "done");
    CHECK(trial["parameters"].contains("optimizer.momentum") == is_sgd);
    const int number = trial["trial"];
    const std::string config = bytes("runs/net-study/trial-00" + std::string(number < 10 ? "0" : "") +
                                     std::to_string(number) + "/config.yaml");
    CHECK(contains(config, "nesterov: true") == is_sgd);
    CHECK(contains(config, "search: null"));
  }
  CHECK(of_sgd > 0);
  CHECK(of_sgd < 12);
}

TEST_CASE_FIXTURE(Fixture, "a key may not be searched where the value of another key has it") {
  const auto search = [&](const std::string& rate) {
    write("net.yaml",
          "search:\n  trials: 2\n  parameters:\n"
          "    optimizer: {values: [{type: adam, learning_rate: 0.3}, {type: sgd}]}\n"
          "    optimizer.learning_rate: " +
              rate + "\n");
    return run_program(folder, "config check net.yaml").err;
  };
  CHECK(has_in_order(search("{min: 0.01, max: 0.1}"),
                     {"search.parameters.optimizer.learning_rate: ", "{type: adam, learning_rate: 0.3} of optimizer ",
                      "leave it out", "`when`"}));
  CHECK(search("{min: 0.01, max: 0.1, when: {optimizer.type: sgd}}") == "");
}

TEST_CASE_FIXTURE(Fixture, "what is wrong with a search is reported at once, by tune and by config check") {
  write("net.yaml", R"(
search:
  trials: 5
  pruner: {type: successive_halving, min_epochs: 3}
  parameters:
    optimizer.learning_rate: {min: -1, max: 0.1}
    model.layers[0].dense.unitz: {values: [4]}
    model.layers[9].dense.units: {values: [4]}
    optimizer.type: {values: [adam, foo]}
    optimizer.momentum: {min: 0, max: 1, when: {optimizer.type: foo}}
)");
  const std::string expected =
      "net.yaml:20:3: search.pruner: training.epochs, 4, is too small for a round before the last: expected at least "
      "min_epochs x reduction_factor = 9\n"
      "net.yaml:22:5: search.parameters.optimizer.learning_rate: a trial with -1.0 would fail: expected a number of at "
      "least 0, found the number -1.0\n"
      "net.yaml:23:5: search.parameters.model.layers[0].dense.unitz: a trial with 4 would fail: unknown key; did you "
      "mean "
      "'units'?\n"
      "net.yaml:24:5: search.parameters.model.layers[9].dense.units: a trial with 4 would fail: model.layers has 2 "
      "items, "
      "counted from 0\n"
      "net.yaml:25:5: search.parameters.optimizer.type: a trial with foo would fail: unknown optimizer 'foo'";
  for (const std::string command : {"tune", "config check"}) {
    const Outcome outcome = run_program(folder, command + " net.yaml");
    CHECK(outcome.exit_code == 2);
    CHECK_MESSAGE(outcome.err.starts_with(expected), outcome.err);
  }
  CHECK_FALSE(fs::exists(folder / "runs"));
  write("net.yaml", "search: {trials: 3, metric: {metric: acuracy}, parameters: {seed: {min: 0, max: 9}}}");
  for (const std::string command : {"tune", "fit"}) {
    const Outcome outcome = run_program(folder, command + " net.yaml");
    CHECK(outcome.exit_code == 2);
    CHECK(contains(outcome.err, "search.metric.metric: expected loss or one of the run's metrics"));
  }
  CHECK(contains(tune("net.yaml --set search=null").err, "there is no section search"));
  CHECK(contains(tune("- < net.yaml").err, "give the path of a file"));
}

TEST_CASE_FIXTURE(Fixture, "a study is continued with more trials, and not with another configuration") {
  const json first = trained("net.yaml --set search.trials=11 --run-dir study");
  const json more = trained("net.yaml --run-dir study");
  REQUIRE(more["trials"].size() == 13);
  for (std::size_t i = 0; i < first["trials"].size(); ++i) CHECK(more["trials"][i] == first["trials"][i]);
  const Outcome other = tune("net.yaml --run-dir study --set optimizer.beta_1=0.8");
  CHECK(other.exit_code == 2);
  CHECK(contains(other.err, "optimizer.beta_1 was 0.9 and is 0.8 now; name another folder with --run-dir"));
  const Outcome parallel = tune("net.yaml --run-dir study --set search.parallel=1");
  CHECK(parallel.exit_code == 2);
  CHECK(contains(parallel.err, "search.parallel was 2 and is 1 now"));
  REQUIRE(run_program(folder, "fit net.yaml --run-dir run").exit_code == 0);
  CHECK(contains(tune("net.yaml --run-dir run").err, "--run-dir run: holds another run"));
}

TEST_CASE_FIXTURE(Fixture, "fit of a file with a search trains with the file's own values and says so") {
  const Outcome outcome = run_program(folder, "fit net.yaml --run-dir run");
  CHECK(outcome.exit_code == 0);
  CHECK(contains(outcome.err, "the section search is for `mirrortrain tune net.yaml`"));
  CHECK(contains(bytes("run/config.yaml"), "learning_rate: 0.05"));
}

}  // namespace
}  // namespace mirrortrain::testing::tune_test
