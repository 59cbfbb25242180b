#include "report/page/run_history.h"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>

#include "base/files.h"
#include "error_text.h"
#include "report/jsonl.h"
#include "temporary_folder.h"

namespace mirrortrain::report {
namespace {

struct Fixture {
  TemporaryFolder folder;
  RunHistory read(const std::string& lines, const std::string& evaluations = "") {
    write_file(folder / "metrics.jsonl", lines);
    if (!evaluations.empty()) write_file(folder / "evaluations.jsonl", evaluations);
    return read_history(folder / "metrics.jsonl", folder / "evaluations.jsonl");
  }
};

std::vector<Curve::Point> points_of(const RunHistory& history, const char* title, const char* series, bool of_epochs) {
  const RunCurve* const curve = history.find(title, series, of_epochs);
  return curve == nullptr ? std::vector<Curve::Point>() : curve->curve.points();
}

TEST_CASE_FIXTURE(Fixture, "every number of a run's events becomes a point") {
  std::string lines;
  const auto add = [&](const Event& event) { lines += to_json(event) + "\n"; };
  add(StepEvent{.step = 10,
                .epoch = 1,
                .scores = Scores{0.1 + 0.2, {{"accuracy", 1.0 / 3}}},
                .learning_rate = 1e-3,
                .gradient_norms = GradientNorms{2.5, {{"dense", 1.5}, {"dense_1", 2}}},
                .examples_per_second = 12345.678,
                .state = {{"count", std::int64_t{7}, {std::int64_t{7}}}, {"none", std::nullopt, {}}},
                .waiting = {0.25, 0.5},
                .waiting_for_data = 0.125,
                .seconds = 1});
  add(EpochEvent{.step = 20,
                 .epoch = 1,
                 .scores = Scores{0.7, {{"accuracy", 0.5}}},
                 .validation = Scores{0.8, {{"accuracy", 0.4}}},
                 .seconds = 2});
  add(EvaluationEvent{"test", 20, 500, {0.9, {{"accuracy", 0.3}}}});
  add(CallbackEvent{"reduce_on_plateau", 20, 1, "loss", "validation", 0.8, 1, 5e-4});
  add(EndEvent{EndEvent::Status::kDone, 20, 1, 2.5});
  const RunHistory history = read(lines);

  using Points = std::vector<Curve::Point>;
  CHECK(points_of(history, "loss", "training", false) == Points{{10, 0.1 + 0.2}});
  CHECK(points_of(history, "accuracy", "training", false) == Points{{10, 1.0 / 3}});
  CHECK(points_of(history, "loss", "training", true) == Points{{20, 0.7}});
  CHECK(points_of(history, "loss", "validation", true) == Points{{20, 0.8}});
  CHECK(points_of(history, "accuracy", "validation", true) == Points{{20, 0.4}});
  CHECK(points_of(history, "gradient norm", "all layers", false) == Points{{10, 2.5}});
  CHECK(points_of(history, "gradient norm", "dense_1", false) == Points{{10, 2}});
  CHECK(points_of(history, "learning rate", "learning rate", false) == Points{{10, 1e-3}});
  CHECK(points_of(history, "examples/s", "examples/s", false) == Points{{10, 12345.678}});
  CHECK(points_of(history, "share of the time waiting", "device 1", false) == Points{{10, 0.5}});
  CHECK(points_of(history, "share of the time waiting", "for data", false) == Points{{10, 0.125}});
  CHECK(points_of(history, "state", "count", false) == Points{{10, 7}});
  CHECK(history.find("state", "none", false) == nullptr);
  CHECK(history.epochs.points() == Points{{20, 1}});
  REQUIRE(history.evaluations.size() == 1);
  CHECK(history.evaluations[0].examples == 500);
  CHECK(history.evaluations[0].scores.metrics[0].second == 0.3);
  REQUIRE(history.callbacks.size() == 1);
  CHECK(history.callbacks[0].learning_rate == 5e-4);
  REQUIRE(history.end);
  CHECK(history.end->status == EndEvent::Status::kDone);
  CHECK(history.seconds == 2.5);
  CHECK(history.unreadable_lines == 0);
  CHECK(history.curves.front().title == "loss");
  CHECK(history.curves.back().chart == RunCurve::Chart::kState);
}

TEST_CASE_FIXTURE(Fixture, "lines that are no events are counted and left out, whatever they hold") {
  const RunHistory history = read(
      "{\"event\": \"step\", \"step\": 1, \"loss\": null, \"metrics\": {\"accuracy\": null}}\n"
      "not json\n"
      "[1, 2]\n"
      "\n"
      "{\"event\": \"step\", \"step\": \"two\", \"loss\": \"low\", \"metrics\": [0.5], \"waiting\": {\"a\": 1}}\n"
      "{\"event\": 7, \"state\": 3}\n"
      "{\"event\": \"epoch\", \"step\": 2, \"epoch\": 1, \"validation\": 3}\n"
      "{\"event\": \"step\", \"step\": 3, \"lo");
  CHECK(history.unreadable_lines == 3);
  CHECK(history.step == 2);
  CHECK_FALSE(history.end);
  const auto loss = points_of(history, "loss", "training", false);
  REQUIRE(loss.size() == 1);
  CHECK(std::isnan(loss[0].y));
  CHECK(points_of(history, "accuracy", "training", false).size() == 1);
  CHECK(read("").curves.empty());
}

TEST_CASE_FIXTURE(Fixture, "a run that was resumed after its end has no end") {
  const RunHistory history = read(
      "{\"event\": \"end\", \"status\": \"done\", \"step\": 2, \"epoch\": 1, \"seconds\": 1}\n"
      "{\"event\": \"step\", \"step\": 3, \"epoch\": 2, \"loss\": 1}\n");
  CHECK_FALSE(history.end);
  CHECK(history.step == 3);
  CHECK(read("{\"event\": \"end\", \"status\": \"stopped\", \"step\": 2}\n").end->status == EndEvent::Status::kStopped);
  CHECK(read("{\"event\": \"end\", \"status\": \"failed\", \"step\": 2}\n").end->status == EndEvent::Status::kFailed);
}

TEST_CASE_FIXTURE(Fixture, "what an evaluator wrote becomes a curve") {
  const RunHistory history = read("{\"event\": \"step\", \"step\": 3, \"loss\": 1}\n",
                                  "{\"event\": \"evaluation\", \"split\": \"validation\", \"step\": 2, \"loss\": 0.5, "
                                  "\"metrics\": {\"accuracy\": 0.25}}\n");
  CHECK(points_of(history, "loss", "validation by the evaluator", true) == std::vector<Curve::Point>{{2, 0.5}});
  CHECK(points_of(history, "accuracy", "validation by the evaluator", true) == std::vector<Curve::Point>{{2, 0.25}});
}

TEST_CASE_FIXTURE(Fixture, "of many lanes the mean and the largest share are drawn") {
  const RunHistory history =
      read("{\"event\": \"step\", \"step\": 1, \"waiting\": [0, 0.5, 0.25, 0.25, 0, 0, 0.5, 0.25, 0.25, 0]}\n");
  CHECK(points_of(history, "share of the time waiting", "mean of 10 devices", false) ==
        std::vector<Curve::Point>{{1, 0.2}});
  CHECK(points_of(history, "share of the time waiting", "largest of a device", false) ==
        std::vector<Curve::Point>{{1, 0.5}});
  CHECK(history.find("share of the time waiting", "device 0", false) == nullptr);
}

TEST_CASE_FIXTURE(Fixture, "a file longer than what is read at a time is read whole") {
  std::string lines;
  for (int step = 1; step <= 900; ++step) {
    lines += R"({"event": "step", "step": )" + std::to_string(step) + R"(, "loss": )" + std::to_string(step) +
             R"(, "state": {"s": {"value": 1, "replicas": [)" + std::string(300, ' ') + "1]}}}\n";
  }
  REQUIRE(lines.size() > (1 << 17));
  const auto loss = points_of(read(lines), "loss", "training", false);
  REQUIRE(loss.size() == 900);
  for (std::size_t i = 0; i < loss.size(); ++i) CHECK(loss[i].y == static_cast<double>(i + 1));
}

TEST_CASE_FIXTURE(Fixture, "a file of events that does not exist is an error") {
  CHECK(contains(error_text([&] { read_history(folder / "none", folder / "evaluations.jsonl"); }), "none"));
}

TEST_CASE_FIXTURE(Fixture, "the epoch whose weights a run took back is kept, until it is resumed") {
  std::string lines;
  const auto epoch = [&](std::int64_t number, double loss) {
    lines += to_json(EpochEvent{.step = number * 10,
                                .epoch = number,
                                .scores = Scores{loss, {}},
                                .validation = Scores{loss + 1, {}},
                                .seconds = 1}) +
             "\n";
  };
  epoch(1, 0.5);
  epoch(2, 0.25);
  epoch(3, 0.75);
  CHECK_FALSE(read(lines).restored);
  lines += to_json(CallbackEvent{"restore_best", 30, 3, "loss", "validation", 1.25, 2, std::nullopt}) + "\n";
  const RunHistory history = read(lines);
  REQUIRE(history.restored);
  CHECK(history.restored->step == 20);
  CHECK(history.restored->training.loss == 0.25);
  REQUIRE(history.restored->validation);
  CHECK(history.restored->validation->loss == 1.25);
  epoch(4, 0.125);
  CHECK_FALSE(read(lines).restored);
}

}  // namespace
}  // namespace mirrortrain::report
