// `mirrortrain report`, and the page that fit leaves.
#include <doctest/doctest.h>

#include <map>

#include "base/json.h"
#include "cli/program.h"
#include "error_text.h"

namespace mirrortrain::testing::report_test {
namespace {

using nlohmann::json;

/// The text between two others; empty where they are not there.
std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t first = text.find(begin);
  if (first == std::string::npos) return "";
  return text.substr(first + begin.size(), text.find(end, first + begin.size()) - first - begin.size());
}

json data_of(const std::string& page) {
  return parsed(between(page, "<script type=\"application/json\" id=\"data\">", "</script>"));
}

/// The curve of a run on the page.
json curve_of(const json& run, const std::string& title, const std::string& series, const std::string& by) {
  for (const json& curve : run["curves"]) {
    if (curve["title"] == title && curve["series"] == series && curve["by"] == by) return curve;
  }
  return {};
}

struct Fixture {
  TemporaryFolder folder;
  Outcome fit(const std::string& arguments) {
    return run_program(folder,
                       "fit " + repository_file("configs/tiny.yaml") + " --set strategy.devices=cpu:0 " + arguments);
  }
  std::string text(const std::string& file) { return read_text_file(folder / file); }
  /// The page that `report` writes to stdout.
  std::string report(const std::string& arguments) {
    const Outcome outcome = run_program(folder, "report -o - " + arguments);
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
    return outcome.out;
  }
};

/// Compares every curve of a page with the run's events.
void check_curves(const json& run, const fs::path& metrics) {
  std::map<std::string, std::vector<json>> steps, epochs;
  for (const json& event : events_of(metrics)) {
    if (event["event"] == "step") steps["step"].push_back(event);
    if (event["event"] == "epoch") epochs["epoch"].push_back(event);
  }
  REQUIRE_FALSE(steps["step"].empty());
  REQUIRE_FALSE(epochs["epoch"].empty());
  const auto check = [&](const std::vector<json>& events, const json& curve, const json::json_pointer& value) {
    json x = json::array(), y = json::array();
    for (const json& event : events) {
      x.push_back(event["step"]);
      y.push_back(event.at(value));
    }
    CAPTURE(value.to_string());
    CHECK(curve["x"] == x);
    CHECK(curve["y"] == y);
  };
  for (const char* const name : {"loss", "accuracy"}) {
    const std::string path = std::string(name) == "loss" ? "/loss" : "/metrics/accuracy";
    check(steps["step"], curve_of(run, name, "training", "step"), json::json_pointer(path));
    check(epochs["epoch"], curve_of(run, name, "training", "epoch"), json::json_pointer(path));
    check(epochs["epoch"], curve_of(run, name, "validation", "epoch"), json::json_pointer("/validation" + path));
  }
  check(steps["step"], curve_of(run, "learning rate", "learning rate", "step"), json::json_pointer("/learning_rate"));
  check(steps["step"], curve_of(run, "examples/s", "examples/s", "step"), json::json_pointer("/examples_per_second"));
  check(steps["step"], curve_of(run, "share of the time waiting", "device 0", "step"),
        json::json_pointer("/waiting/0"));
}

TEST_CASE_FIXTURE(Fixture,
                  "fit leaves a page with the numbers of metrics.jsonl, and report one with classes and pictures") {
  REQUIRE(fit("--run-dir run").exit_code == 0);
  const std::string left = text("run/report.html");
  const json data = data_of(left);
  REQUIRE(data["runs"].size() == 1);
  CHECK(data["runs"][0]["name"] == "run");
  check_curves(data["runs"][0], folder / "run/metrics.jsonl");
  CHECK(contains(left, "<dt>status</dt><dd>done</dd>"));
  CHECK(contains(left, "Confusion matrix"));  // the test examples are few beside those that were trained
  CHECK(contains(left, "<h3>Calibration</h3>"));
  CHECK(contains(left, "<th>dense</th><td>dense</td>"));
  CHECK(contains(left, "global_batch_size: 64"));

  const Outcome outcome = run_program(folder, "report run");
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  CHECK(outcome.out == "run/report.html\n");
  const std::string page = text("run/report.html");
  CHECK(data_of(page) == data);
  REQUIRE(run_program(folder, "eval run --json eval.json").exit_code == 0);
  const json evaluation = parsed(text("eval.json"));
  // Each count of the matrix, in order.
  std::string rest = between(page, "<table class=\"matrix\">", "</table>");
  for (const json& row : evaluation["confusion_matrix"]) {
    for (const json& count : row) {
      rest = rest.substr(rest.find("--share:"));
      CHECK(between(rest, ">", "<") == json_text(count));
      rest = rest.substr(1);
    }
  }
  CHECK(contains(page, fmt::format("<td class=\"n\">{:#.5g}</td>", evaluation["classes"][3]["f1"].get<double>())));
  CHECK(contains(page, "<td class=\"n\">500</td>"));
  CHECK(contains(page, fmt::format("{:#.5g}", evaluation["loss"].get<double>())));
  std::size_t pictures = 0;
  for (std::size_t at = page.find("<img src=\"data:image/png;base64,iVBORw0KGgo"); at != std::string::npos;
       at = page.find("<img src=\"data:image/png;base64,iVBORw0KGgo", at + 1)) {
    ++pictures;
  }
  CHECK(pictures == 24);
}

TEST_CASE_FIXTURE(Fixture, "logging.report: false leaves the page out, and one that cannot be written is a warning") {
  REQUIRE(fit("--run-dir a --set training.steps=2 --set logging.report=false").exit_code == 0);
  CHECK_FALSE(fs::exists(folder / "a/report.html"));
  fs::create_directory(folder / "a/report.html");
  const Outcome outcome = fit("--resume --run-dir a --set training.steps=4");
  CHECK(outcome.exit_code == 0);
  CHECK(contains(outcome.err, "warning: there is no a/report.html: "));
  CHECK(parsed(text("a/summary.json"))["status"] == "done");
}

TEST_CASE_FIXTURE(Fixture, "a run that fails leaves its page too, and one that a signal stops tells how to make it") {
  CHECK(fit("--run-dir nan --set 'optimizer={type: sgd, learning_rate: 1e30}' --set logging.every_steps=1").exit_code ==
        3);
  CHECK(contains(text("nan/report.html"), "<dd>failed</dd>"));
  const std::string page = report("nan");
  CHECK(contains(page, "Left out: "));
  CHECK(contains(page, "<h2>Layers</h2>"));
  const Outcome stopped =
      run_script(folder, R"("$MIRRORTRAIN" fit )" + repository_file("configs/tiny.yaml") +
                             R"( --run-dir a --set strategy.devices=cpu:0 --set training.epochs=100000 &
while [ ! -s a/metrics.jsonl ] && kill -0 $!; do sleep 0.01; done
kill -TERM $!; wait $!)");
  CHECK(stopped.exit_code == 143);
  CHECK_FALSE(fs::exists(folder / "a/report.html"));
  CHECK_MESSAGE(contains(stopped.err, "mirrortrain report a\n"), stopped.err);
  CHECK(contains(report("a"), "<dd>stopped</dd>"));
}

TEST_CASE_FIXTURE(Fixture, "values that are not finite are gaps, and weights that are NaN break nothing") {
  REQUIRE(fit("--run-dir a --set training.on_non_finite=ignore --set 'optimizer={type: sgd, learning_rate: 1e30}' "
              "--set training.epochs=2")
              .exit_code == 0);
  const std::string page = report("a");
  CHECK(contains(page, "Some values are not finite"));
  CHECK(curve_of(data_of(page)["runs"][0], "loss", "training", "epoch")["y"][1].is_null());
  CHECK(contains(page, "Confusion matrix"));
}

TEST_CASE_FIXTURE(Fixture, "several runs are drawn together, with what differs") {
  REQUIRE(fit("--set name=a --set training.epochs=2").exit_code == 0);
  REQUIRE(fit("--set name=b --set training.epochs=3 --set optimizer.learning_rate=0.01").exit_code == 0);
  const Outcome outcome = run_program(folder, "report a runs/b a/step-000029 --no-predictions");
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  CHECK(outcome.out == "report.html\n");
  const std::string page = text("report.html");
  const json data = data_of(page);
  REQUIRE(data["runs"].size() == 3);
  CHECK(data["runs"][2]["name"] == "a (step-000029)");
  check_curves(data["runs"][0], folder / "runs/a/metrics.jsonl");
  check_curves(data["runs"][1], folder / "runs/b/metrics.jsonl");
  const std::string differs = between(page, "<h2>What differs</h2>", "</section>");
  CHECK(contains(differs,
                 "<th><code>optimizer.learning_rate</code></th><td><code>0.001</code></td><td><code>0.01</code>"));
  CHECK(contains(differs, "training.epochs"));
  CHECK_FALSE(contains(differs, "seed"));
  CHECK_FALSE(contains(page, "Confusion matrix"));
}

TEST_CASE_FIXTURE(Fixture, "what is missing or damaged is said on the page") {
  REQUIRE(fit("--run-dir a --set training.epochs=2").exit_code == 0);
  // Its data are gone, its last line is unfinished, and it has no end.
  std::string events = text("a/metrics.jsonl");
  events.resize(events.find("{\"event\": \"evaluation\"") + 20);
  write_file(folder / "a/metrics.jsonl", events);
  std::string configuration = text("a/config.yaml");
  for (std::size_t at; (at = configuration.find("t10k-")) != std::string::npos;) configuration.replace(at, 5, "none-");
  write_file(folder / "a/config.yaml", configuration);
  std::string page = report("a");
  CHECK(contains(page, "<dd>unfinished</dd>"));
  CHECK(contains(page, "A line of metrics.jsonl cannot be read and is left out"));
  CHECK(contains(between(page, "<h2>Classes</h2>", "</section>"), "Left out: "));
  CHECK(contains(between(page, "<h2>Worst mistakes</h2>", "</section>"), "none-"));

  // An eval.json stands in.
  write_file(folder / "a/eval.json",
             R"({"split": "test", "classes": [{"precision": 0.25}], "confusion_matrix": [[4321]]})");
  page = report("a");
  CHECK(contains(page, ">4321</td>"));
  fs::remove(folder / "a/metrics.jsonl");
  write_file(folder / "a/summary.json", "{");
  page = report("a");
  CHECK(contains(page, "metrics.jsonl is missing"));
  CHECK(data_of(page)["runs"][0]["curves"].empty());
  write_file(folder / "a/config.yaml", "model: [");
  CHECK(contains(between(report("a"), "<h2>Layers</h2>", "</section>"), "Left out: "));
}

TEST_CASE_FIXTURE(Fixture, "runs without classes, or without a model, have pages") {
  REQUIRE(run_program(folder, "fit " + repository_file("configs/linear-regression.yaml")).exit_code == 0);
  const std::string page = report("linear-regression");
  CHECK_FALSE(contains(page, "<h2>Classes</h2>"));
  CHECK_FALSE(contains(page, "<h2>Errors</h2>"));  // there are no data for them
  const std::string tested = "{format: inline, features: [[1], [2], [3]], labels: [1, 2, 4]}";
  REQUIRE(run_program(folder, "fit " + repository_file("configs/linear-regression.yaml") +
                                  " --run-dir tested --set 'data.test=" + tested + "'")
              .exit_code == 0);
  const std::string errors = between(report("tested"), "<h2>Errors</h2>", "</section>");
  CHECK(contains(errors, "<dt>R²</dt>"));
  CHECK(contains(errors, "<h3>Residuals</h3>"));
  CHECK(curve_of(data_of(page)["runs"][0], "loss", "training", "step")["y"].size() == 50);
  REQUIRE(run_program(folder, "fit " + repository_file("configs/variable-synchronization.yaml") +
                                  " --set training.steps=3 --set logging.every_steps=1 --run-dir state")
              .exit_code == 0);
  const json state = data_of(report("state linear-regression"))["runs"][0];
  CHECK(curve_of(state, "state", "shared_variable", "step")["y"] == json({2.0, 4.0, 6.0}));
  CHECK(curve_of(state, "loss", "training", "step").is_null());
}

TEST_CASE_FIXTURE(Fixture, "of pictures with a class for each pixel the classes are counted, without worst mistakes") {
  write_file(folder / "pixels.yaml",
             "data:\n  global_batch_size: 1\n"
             "  train: {format: inline, features: [[[1, 0, 0], [0, 1, 1]]], labels: [[[1, 0, 0], [0, 1, 1]]]}\n"
             "  test: {format: inline, features: [[[1, 1, 0], [0, 1, 1]]], labels: [[[1, 0, 0], [0, 1, 1]]]}\n"
             "model:\n  input_shape: [2, 3, 1]\n  layers:\n    - conv2d: {filters: 2, kernel_size: 1}\n"
             "loss: {type: sparse_categorical_crossentropy, from_logits: true}\n"
             "optimizer: {type: adam, learning_rate: 0.1}\ntraining: {epochs: 60}\n");
  REQUIRE(run_program(folder, "fit pixels.yaml --run-dir pixels").exit_code == 0);
  CHECK(contains(text("pixels/report.html"), "Confusion matrix"));
  REQUIRE(run_program(folder, "fit pixels.yaml --run-dir short --set training.epochs=9").exit_code == 0);
  CHECK(contains(text("short/report.html"), "report short` adds how well each class is predicted."));
  const std::string page = report("pixels");
  const std::string matrix = between(page, "<table class=\"matrix\">", "</table>");
  std::vector<std::string> counts;
  for (std::size_t at = matrix.find("--share:"); at != std::string::npos; at = matrix.find("--share:", at + 1)) {
    counts.push_back(between(matrix.substr(at), ">", "<"));
  }
  CHECK(counts == std::vector<std::string>{"2", "1", "0", "3"});
  CHECK(contains(between(page, "<h2>Worst mistakes</h2>", "</section>"),
                 "Left out: each picture has a class for each of its pixels."));
}

TEST_CASE_FIXTURE(
    Fixture, "of more than 2000 classes, of steps or of examples, the pages and eval say that they leave them out") {
  const std::string end =
      "loss: {type: sparse_categorical_crossentropy, from_logits: true}\noptimizer: sgd\ntraining: {epochs: 1}\n";
  write_file(folder / "steps.yaml",
             "data:\n  global_batch_size: 1\n  train: {format: inline, features: [[1, 2]], labels: [[0, 2000]]}\n"
             "  test: {format: inline, features: [[1, 2]], labels: [[0, 2000]]}\n"
             "model:\n  input_shape: [2]\n  layers:\n    - embedding: {input_dim: 3, output_dim: 2}\n"
             "    - dense: {units: 2001}\n" +
                 end);
  write_file(folder / "examples.yaml",
             "data:\n  global_batch_size: 1\n  train: {format: inline, features: [[1, 2]], labels: [2000]}\n"
             "  test: {format: inline, features: [[1, 2]], labels: [2000]}\n"
             "model:\n  input_shape: [2]\n  layers:\n    - dense: {units: 2001}\n" +
                 end);
  for (const std::string name : {"steps", "examples"}) {
    CAPTURE(name);
    REQUIRE(run_program(folder, fmt::format("fit {0}.yaml --run-dir {0}", name)).exit_code == 0);
    const std::string why = "there are 2001 classes, more than 2000";
    for (const std::string& page : {text(name + "/report.html"), report(name)}) {
      CHECK(contains(between(page, "<h2>Classes</h2>", "</section>"), fmt::format("Left out: {}.", why)));
      CHECK_FALSE(contains(page, "<h2>Worst mistakes</h2>"));
      CHECK_FALSE(contains(page, "adds how well"));
    }
    const Outcome outcome = run_program(folder, fmt::format("eval {} --json e.json", name));
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
    CHECK(contains(outcome.err, "the figures of each class are left out: " + why));
    const json evaluation = parsed(text("e.json"));
    CHECK(evaluation["examples"] == 1);
    CHECK_FALSE(evaluation.contains("classes"));
    CHECK_FALSE(evaluation.contains("confusions"));
    CHECK_FALSE(evaluation.contains("expected_calibration_error"));
  }
}

TEST_CASE_FIXTURE(Fixture, "a run's name is escaped") {
  REQUIRE(fit("--run-dir \"<script>alert(1)<script>\" --set training.steps=2").exit_code == 0);
  const std::string page = report("\"<script>alert(1)<script>\"");
  CHECK_FALSE(contains(page, "<script>alert"));
  CHECK(contains(page, "<h1>&lt;script&gt;alert(1)&lt;script&gt;</h1>"));
}

TEST_CASE_FIXTURE(Fixture, "report says what is wrong with its arguments before it does anything") {
  REQUIRE(fit("--run-dir a --set training.steps=2").exit_code == 0);
  CHECK(run_program(folder, "report").exit_code == 2);
  CHECK(contains(run_program(folder, "report none").err, "there is no run none"));
  CHECK(run_program(folder, "report a none").exit_code == 2);
  CHECK(run_program(folder, "report a -o missing/folder/report.html").exit_code == 2);
  const Outcome as_pdf = run_program(folder, "report a -o a.pdf");
  CHECK(as_pdf.exit_code == 2);
  CHECK_MESSAGE(contains(as_pdf.err, "--output a.pdf: expected a file that ends in .html, as the page is HTML"),
                as_pdf.err);
  CHECK(run_program(folder, "report a -o b.html").exit_code == 0);
  CHECK(text("b.html").starts_with("<!DOCTYPE html>"));
}

}  // namespace
}  // namespace mirrortrain::testing::report_test
