#include "report/jsonl.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "error_text.h"
#include "temporary_folder.h"

using namespace mirrortrain;
using namespace mirrortrain::report;

TEST_CASE("events are written as the interface shows them") {
  CHECK(to_json(StepEvent{.step = 100,
                          .epoch = 1,
                          .scores = Scores{0.5123, {{"accuracy", 0.81}}},
                          .learning_rate = 0.001,
                          .examples_per_second = 51000,
                          .seconds = 0.5}) ==
        R"({"event": "step", "step": 100, "epoch": 1, "loss": 0.5123, "metrics": {"accuracy": 0.81}, )"
        R"("learning_rate": 0.001, "examples_per_second": 51000.0, "seconds": 0.5})");
  CHECK(to_json(EpochEvent{.step = 235,
                           .epoch = 1,
                           .scores = Scores{0.44, {{"accuracy", 0.84}}},
                           .validation = Scores{0.4, {{"accuracy", 0.86}}},
                           .state = {{"shared_variable", std::int64_t{470}, {std::int64_t{470}, std::int64_t{470}}}},
                           .seconds = 1.2}) ==
        R"({"event": "epoch", "step": 235, "epoch": 1, "loss": 0.44, "metrics": {"accuracy": 0.84}, )"
        R"("validation": {"loss": 0.4, "metrics": {"accuracy": 0.86}}, )"
        R"("state": {"shared_variable": {"value": 470, "replicas": [470, 470]}}, "seconds": 1.2})");
  CHECK(to_json(EvaluationEvent{"test", 1175, 10000, {0.3, {{"accuracy", 0.89}}}}) ==
        R"({"event": "evaluation", "split": "test", "step": 1175, "examples": 10000, "loss": 0.3, )"
        R"("metrics": {"accuracy": 0.89}})");
  CHECK(to_json(EndEvent{EndEvent::Status::kDone, 1175, 5, 6.1}) ==
        R"({"event": "end", "status": "done", "step": 1175, "epoch": 5, "seconds": 6.1})");
  CHECK(contains(to_json(EndEvent{.status = EndEvent::Status::kStopped}), R"("status": "stopped")"));
  CHECK(contains(to_json(EndEvent{.status = EndEvent::Status::kFailed}), R"("status": "failed")"));
}

TEST_CASE("a run without a model has no scores; a variable without an outside value reads null") {
  CHECK(to_json(StepEvent{.step = 1, .epoch = 1, .state = {{"v", std::nullopt, {0.5, 1.0}}}}) ==
        R"({"event": "step", "step": 1, "epoch": 1, "examples_per_second": 0.0, )"
        R"("state": {"v": {"value": null, "replicas": [0.5, 1.0]}}, "seconds": 0.0})");
  CHECK(contains(to_json(EvaluationEvent{"train", 1, 2, {0.5, {}}}), R"("loss": 0.5, "metrics": {}})"));
}

TEST_CASE("steps and epochs have for which workers the others waited, and the numbers of updates by staleness") {
  const WaitedForWorkers workers = {{"chief", 0.125}, {"worker 0", 0.5}};
  CHECK(to_json(StepEvent{.step = 1, .epoch = 1, .waited_for = workers, .staleness = {5, 1}}) ==
        R"({"event": "step", "step": 1, "epoch": 1, "examples_per_second": 0.0, )"
        R"("waited_for": {"chief": 0.125, "worker 0": 0.5}, "staleness": [5, 1], "seconds": 0.0})");
  CHECK(to_json(EpochEvent{.step = 1, .epoch = 1, .waited_for = workers, .staleness = {5, 1}}) ==
        R"({"event": "epoch", "step": 1, "epoch": 1, )"
        R"("waited_for": {"chief": 0.125, "worker 0": 0.5}, "staleness": [5, 1], "seconds": 0.0})");
}

TEST_CASE("a step has its gradient's norms, and what is for TensorBoard alone is no line") {
  CHECK(to_json(StepEvent{.step = 1, .epoch = 1, .gradient_norms = GradientNorms{2.5, {{"dense", 1.5}, {"out", 2}}}}) ==
        R"({"event": "step", "step": 1, "epoch": 1, "gradient_norm": 2.5, )"
        R"("gradient_norms": {"dense": 1.5, "out": 2.0}, "examples_per_second": 0.0, "seconds": 0.0})");
  CHECK(to_json(HistogramsEvent{.step = 1}).empty());
  CHECK(to_json(PicturesEvent{.step = 1}).empty());
}

TEST_CASE("an infinite state is not taken for one without an outside value") {
  const double infinite = std::numeric_limits<double>::infinity();
  CHECK(contains(to_json(StepEvent{.state = {{"v", infinite, {infinite, -infinite, std::nan(""), 0.5}}}}),
                 R"("v": {"value": "Infinity", "replicas": ["Infinity", "-Infinity", "NaN", 0.5]})"));
}

TEST_CASE("numbers keep their full precision, and what JSON lacks is null") {
  const auto loss = [](double value) { return to_json(StepEvent{.scores = Scores{value, {}}}); };
  CHECK(contains(loss(0.1 + 0.2), "\"loss\": 0.30000000000000004,"));
  CHECK(contains(loss(1e-300), "\"loss\": 1e-300,"));
  CHECK(contains(loss(std::numeric_limits<double>::quiet_NaN()), "\"loss\": null,"));
  CHECK(contains(loss(std::numeric_limits<double>::infinity()), "\"loss\": null,"));
}

TEST_CASE("lines are in the file as soon as they are written, behind those of before") {
  const TemporaryFolder folder;
  write_file(folder / "metrics.jsonl", "before\n");
  JsonlWriter writer(folder / "metrics.jsonl");
  writer.write(EndEvent{});
  writer.write(ProgressEvent{});
  CHECK(read_text_file(folder / "metrics.jsonl") == "before\n" + to_json(EndEvent{}) + "\n");
  CHECK(contains(error_text([&] { JsonlWriter(folder / "none/metrics.jsonl"); }), "No such file or directory"));
}

TEST_CASE("cutting back keeps what was done by the step, and no end") {
  const TemporaryFolder folder;
  const auto path = folder / "metrics.jsonl";
  std::string kept;
  JsonlWriter writer(path);
  const auto write = [&](const Event& event, bool keep) {
    writer.write(event);
    if (keep) kept += to_json(event) + "\n";
  };
  write(StepEvent{.step = 100, .epoch = 1}, true);
  write(EpochEvent{.step = 200, .epoch = 1}, true);
  write(EndEvent{EndEvent::Status::kStopped, 200, 1, 2.0}, false);
  write(StepEvent{.step = 200, .epoch = 1}, true);
  write(StepEvent{.step = 201, .epoch = 2}, false);
  OutputFile(path, OutputFile::Mode::kAppend).write(R"({"event": "step", "step": 1)");
  cut_back_jsonl(path, 200);
  CHECK(read_text_file(path) == kept);
  OutputFile(path, OutputFile::Mode::kAppend).write("{\"event\": 1, \"step\": 3, \"callback\": []}\n");  // damaged
  cut_back_jsonl(path, 0);
  CHECK(read_text_file(path).empty());
  cut_back_jsonl(folder / "none", 1);
  CHECK(!std::filesystem::exists(folder / "none"));
}
