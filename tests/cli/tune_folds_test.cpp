// Trials with a run for each fold of the data.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "cli/small_study.h"
#include "error_text.h"
#include "has_in_order.h"

namespace mirrortrain::testing::tune_folds_test {
namespace {

using nlohmann::json;

using Fixture = SmallStudy;

TEST_CASE_FIXTURE(Fixture, "with folds of the data a trial is a run on each, and its value their mean") {
  write("net.yaml",
        "search: {trials: 4, sampler: random, parallel: 2, parameters: {optimizer.learning_rate: {min: 0.01, "
        "max: 0.1}}}");
  const json study = trained("net.yaml --run-dir study --set 'data.validation={folds: 3}'");
  for (const json& trial : study["trials"]) {
    REQUIRE(trial["folds"].size() == 3);
    double sum = 0;
    for (int fold = 1; fold <= 3; ++fold) {
      double least = 1e9;
      const std::string run = fmt::format("study/trial-000{}/fold-{}", trial["trial"].get<int>(), fold);
      for (const json& event : events_of(folder / run / "metrics.jsonl")) {
        if (event["event"] == "epoch") least = std::min(least, event["validation"]["loss"].get<double>());
      }
      CHECK(trial["folds"][static_cast<std::size_t>(fold - 1)] == least);
      sum += least;
    }
    CHECK(trial["value"].get<double>() == doctest::Approx(sum / 3).epsilon(1e-15));
    double squares = 0;
    for (const json& value : trial["folds"]) squares += std::pow(value.get<double>() - sum / 3, 2);
    CHECK(trial["deviation"].get<double>() == doctest::Approx(std::sqrt(squares / 3)).epsilon(1e-12));
    CHECK(trial["best_epoch"].is_null());
  }
  // One fold alone is a run as any other.
  const json one = trained("net.yaml --run-dir one --set 'data.validation={folds: 3, fold: 2}'");
  CHECK(fs::exists(folder / "one/trial-0001/model.safetensors"));
  CHECK(one["trials"][0]["value"] == study["trials"][0]["folds"][1]);
  REQUIRE(run_program(folder, "fit study/best/fold-3/config.yaml --run-dir again").exit_code == 0);
  CHECK(bytes("again/model.safetensors") == bytes("study/best/fold-3/model.safetensors"));
  const Outcome outcome = run_program(folder, "fit net.yaml --set 'data.validation={folds: 3, fold: 4}'");
  CHECK(outcome.exit_code == 2);
  CHECK(contains(outcome.err, "data.validation.fold: there are 3 folds, found 4"));
}

constexpr const char* kFolds =
    "search: {trials: 2, sampler: random, parallel: 2, parameters: {optimizer.learning_rate: {min: 0.01, max: 0.1}}}\n";

struct FoldsFixture : Fixture {
  FoldsFixture() { write_file(folder / "folds.yaml", replaced(kNet, "{fraction: 0.32}", "{folds: 3}") + kFolds); }
};

TEST_CASE_FIXTURE(FoldsFixture, "table and page have the deviation of the folds") {
  const Outcome outcome = tune("folds.yaml --run-dir study --set logging.report=true --json trials.json");
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  CHECK(outcome.out.starts_with("trial  status      loss       std_dev    epoch  learning_rate\n"));
  CHECK(contains(outcome.err, "in the mean of 3 folds, standard deviation "));
  const std::string page = bytes("study/report.html");
  CHECK(contains(page, "standard deviation of 3 folds"));
  CHECK(contains(page, "<th class=\"n\">standard deviation</th>"));
}

TEST_CASE_FIXTURE(FoldsFixture, "eval of a trial with folds evaluates each, and prints their mean and deviation") {
  REQUIRE(tune("folds.yaml --run-dir study -q").exit_code == 0);
  const Outcome outcome = run_program(folder, "eval study/best --split validation --json eval.json -q");
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  const json all = parsed(bytes("eval.json"));
  REQUIRE(all["folds"].size() == 3);
  double sum = 0, squares = 0;
  for (std::size_t fold = 0; fold < 3; ++fold) {
    const json& event = all["folds"][fold];
    const Outcome alone =
        run_program(folder, fmt::format("eval study/best/fold-{} --split validation --json -", fold + 1));
    CHECK(parsed(alone.out) == event);
    CHECK(event["examples"] == 32);
    CHECK(event.contains("classes"));
    const double accuracy = event["metrics"]["accuracy"].get<double>();
    sum += accuracy;
    squares += accuracy * accuracy;
  }
  CHECK(all["mean"]["metrics"]["accuracy"].get<double>() == doctest::Approx(sum / 3).epsilon(1e-12));
  const double variance = std::max(squares / 3 - sum * sum / 9, 0.0);
  CHECK(all["deviation"]["metrics"]["accuracy"].get<double>() == doctest::Approx(std::sqrt(variance)).epsilon(1e-6));
  CHECK(outcome.out.starts_with("fold-1: validation: loss "));
  CHECK(contains(outcome.out, "\nmean of 3 folds: loss "));
  CHECK(contains(outcome.out, "\nstandard deviation: loss "));
}

TEST_CASE_FIXTURE(FoldsFixture, "what takes one model refuses a trial with folds, and says how to train one") {
  REQUIRE(tune("folds.yaml --run-dir study -q").exit_code == 0);
  for (const std::string command : {"predict study/best", "export study/best -o model.onnx", "serve study/best",
                                    "runs study/best --json -", "report study/best -o page.html --no-predictions"}) {
    CAPTURE(command);
    const Outcome outcome = run_program(folder, command);
    const bool takes_several = command.starts_with("runs") || command.starts_with("report");
    CHECK(outcome.exit_code == (takes_several ? 0 : 2));
    if (takes_several) continue;
    CHECK_MESSAGE(
        has_in_order(outcome.err, {"study/best holds ", "fold-1 to fold-3", "name one of them",
                                   "mirrortrain fit study/best/fold-1/config.yaml --set data.validation=null"}),
        outcome.err);
  }
  REQUIRE(run_program(folder, "fit study/best/fold-1/config.yaml --set data.validation=null --run-dir all").exit_code ==
          0);
  CHECK(run_program(folder, "eval all --split train").exit_code == 0);
  // All runs of the study, side by side.
  REQUIRE(run_program(folder, "report study --no-predictions -o page.html").exit_code == 0);
  CHECK(contains(bytes("page.html"), "<h1>6 runs</h1>"));
  CHECK(parsed(run_program(folder, "runs study --json -").out)["runs"].size() == 6);
}

TEST_CASE_FIXTURE(FoldsFixture, "eval refuses a trial of which folds are missing, and names them") {
  REQUIRE(tune("folds.yaml --run-dir study -q").exit_code == 0);
  const auto error = [&] {
    const Outcome outcome = run_program(folder, "eval study/trial-0001 --split validation");
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.out.empty());
    return outcome.err;
  };
  fs::remove(folder / "study/trial-0001/fold-3/model.safetensors");  // as while it is trained
  CHECK(contains(
      error(),
      "study/trial-0001: the trial has a run for each of 3 folds, and fold-3 is not trained yet, or failed, so "
      "that there is no mean"));
  fs::remove_all(folder / "study/trial-0001/fold-1");
  CHECK(contains(error(), "and fold-1, fold-3 are not trained yet, or failed"));
  const Outcome one = run_program(folder, "eval study/trial-0001/fold-2 --split validation");
  CHECK_MESSAGE(one.exit_code == 0, one.err);
}

TEST_CASE_FIXTURE(FoldsFixture, "the advice to train one model leaves out what watches the validation data") {
  const std::string watching =
      "callbacks: [{early_stopping: {patience: 3}}]\ncheckpoint: {save_best: {metric: accuracy}}\n";
  write_file(folder / "folds.yaml", bytes("folds.yaml") + watching);
  const Outcome study = tune("folds.yaml --run-dir study -q");
  REQUIRE_MESSAGE(study.exit_code == 0, study.err);
  const std::string advised =
      "fit study/best/fold-1/config.yaml --set data.validation=null --set 'callbacks=[]' --set "
      "checkpoint.save_best=null";
  CHECK(contains(run_program(folder, "predict study/best").err, "mirrortrain " + advised + "\n"));
  const Outcome trained = run_program(folder, advised + " --run-dir all");
  CHECK_MESSAGE(trained.exit_code == 0, trained.err);
}

TEST_CASE_FIXTURE(FoldsFixture, "fit says which fold it is validated on") {
  const Outcome first = run_program(folder, "fit folds.yaml --run-dir first");
  CHECK(has_in_order(first.err,
                     {"data.validation: ", "fold 1 of 3 alone", "data.validation.fold", "`mirrortrain tune`"}));
  const Outcome second = run_program(folder, "fit folds.yaml --run-dir second --set data.validation.fold=2");
  CHECK(contains(second.err, "this run is validated on fold 2 of 3 alone, and trained on the others\n"));
}

}  // namespace
}  // namespace mirrortrain::testing::tune_folds_test
