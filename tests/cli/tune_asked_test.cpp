// A study whose trials another program asks for, line by line.
#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "base/json.h"
#include "cli/small_study.h"
#include "error_text.h"

namespace mirrortrain::testing::tune_asked_test {
namespace {

using nlohmann::json;

constexpr const char* kAsked = R"(
search:
  sampler: external
  parallel: 2
  parameters:
    optimizer.learning_rate: {min: 1.0e-3, max: 1, scale: log}
    model.layers[0].dense.units: {values: [4, 16]}
)";

struct Fixture : SmallStudy {
  Fixture() { write("net.yaml", kAsked); }
};

/// A request for these values, with more keys behind them.
std::string request(double rate, int units, const std::string& more = "") {
  return fmt::format(R"({{"parameters": {{"optimizer.learning_rate": {}, "model.layers[0].dense.units": {}}}{}}})",
                     rate, units, more);
}

std::vector<json> lines_of(const std::string& text) {
  std::vector<json> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(parsed(line));
  return lines;
}

/// By their ids, without those of the programs' order.
std::vector<json> by_id(const std::string& text) {
  std::vector<json> lines = lines_of(text);
  std::ranges::sort(lines, {}, [](const json& line) { return line["id"].get<int>(); });
  return lines;
}

TEST_CASE_FIXTURE(Fixture, "a program asks for trials one by one, each with what it has learnt from those before") {
  const Outcome outcome = run_script(folder, R"sh(
    mkfifo asked answers
    "$MIRRORTRAIN" tune net.yaml --run-dir study --json trials.json < asked > answers & study=$!
    exec 3> asked 4< answers
    ask() { echo "$1" >&3; read -r answer <&4; echo "$answer"; }
    ask ')sh" + request(0.05, 4, R"(, "id": "a")") +
                                                 R"sh('
    ask ')sh" + request(0.25, 16) + R"sh('
    ask ')sh" + request(0.05, 4) + R"sh('
    exec 3>&-
    wait $study)sh");
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  const std::vector<json> answers = lines_of(outcome.out);
  REQUIRE(answers.size() == 3);
  const json& first = answers[0];
  CHECK(first["id"] == "a");
  CHECK(first["trial"] == 1);
  CHECK(first["status"] == "done");
  CHECK(first["epochs"] == 4);
  CHECK(first["run"] == "study/trial-0001");
  CHECK(first["parameters"] == json{{"optimizer.learning_rate", 0.05}, {"model.layers[0].dense.units", 4}});
  std::vector<double> losses;
  for (const json& event : events_of(folder / "study/trial-0001/metrics.jsonl")) {
    if (event["event"] == "epoch") losses.push_back(event["validation"]["loss"]);
  }
  REQUIRE(losses.size() == 4);
  CHECK(first["values"] == json(losses));
  CHECK(first["value"] == *std::ranges::min_element(losses));
  CHECK(answers[1]["trial"] == 2);
  CHECK_FALSE(answers[1].contains("id"));
  // The same values once more are the same trial, from the journal.
  json again = answers[2];
  again["id"] = "a";
  CHECK(again == first);
  CHECK(trials("trials.json")["trials"].size() == 2);
  CHECK(fs::exists(folder / "study/best/model.safetensors"));
  CHECK(contains(outcome.err, "study: study: trials as lines of JSON on stdin ask for them, 0 so far"));
  CHECK(contains(outcome.err, "best: trial "));

  REQUIRE(run_program(folder, "fit study/trial-0002/config.yaml --run-dir alone").exit_code == 0);
  CHECK(bytes("alone/model.safetensors") == bytes("study/trial-0002/model.safetensors"));
}

TEST_CASE_FIXTURE(Fixture, "a line is as deep, as long and as exact as it can be answered") {
  write_file(folder / "asked.jsonl", "{\"id\": " + std::string(20'000, '[') + std::string(20'000, ']') + "}\n" +
                                         request(0.1, 4, R"(, "id": 340282366920938463463374607431768211455)") + "\n" +
                                         std::string(1 << 21, 'x') + "\n" +
                                         request(0.1, 4, R"(, "id": 18446744073709551615)"));
  const Outcome outcome = tune("net.yaml -q < asked.jsonl");
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  const std::vector<json> answers = lines_of(outcome.out);
  REQUIRE(answers.size() == 4);
  CHECK(contains(answers[0]["error"], "at most 64 levels of brackets"));
  CHECK(contains(answers[1]["error"], "id: expected a text or an integer of 64 bits"));
  CHECK(contains(answers[2]["error"], "less than 1 MiB"));
  CHECK(answers[3]["id"] == 18446744073709551615U);
}

TEST_CASE_FIXTURE(Fixture, "a closed stdin has ended") {
  const Outcome outcome = run_script(folder, R"(timeout 60 "$MIRRORTRAIN" tune net.yaml -q <&-)");
  CHECK(outcome.exit_code == 1);
  CHECK_MESSAGE(contains(outcome.err, "stdin has ended"), outcome.err);
}

TEST_CASE_FIXTURE(Fixture, "what cannot be a trial is answered with the error, and the study goes on") {
  write_file(folder / "asked.jsonl",
             request(3, 4, R"(, "id": 1)") + "\nnot json\n\n" + request(0.1, 5, R"(, "id": [2])") +
                 "\n{\"parameters\": {\"optimizer.rate\": 1}}\n" + request(0.1, 16, R"(, "id": 3)"));
  const Outcome outcome = tune("net.yaml -q < asked.jsonl");
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  const std::vector<json> answers = lines_of(outcome.out);
  REQUIRE(answers.size() == 5);
  CHECK(answers[0] ==
        json{{"id", 1}, {"error", "parameters.optimizer.learning_rate: expected a number from 0.001 to 1, found 3"}});
  CHECK(contains(answers[1]["error"], "expected a line of JSON"));
  CHECK(answers[2]["id"] == json{2});
  CHECK(answers[2]["error"] == "parameters.model.layers[0].dense.units: expected one of 4, 16, found 5");
  CHECK(contains(answers[3]["error"], "parameters.optimizer.rate: search.parameters has no such key"));
  CHECK(answers[4]["id"] == 3);  // the last line has no end
  CHECK(answers[4]["status"] == "done");
}

TEST_CASE_FIXTURE(Fixture,
                  "more epochs for the same values resume the trial's run, and its bits are those of a whole one") {
  write_file(folder / "asked.jsonl",
             request(0.05, 4, R"(, "epochs": 1, "id": 1)") + "\n" + request(0.05, 4, R"(, "epochs": 3, "id": 2)") +
                 "\n" + request(0.05, 4, R"(, "epochs": 2, "id": 3)") + "\n" +
                 request(0.05, 4, R"(, "epochs": 9, "id": 4)") + "\n" + request(0.05, 4, R"(, "id": 5)") + "\n");
  const Outcome outcome = tune("net.yaml --run-dir study < asked.jsonl");
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  const std::vector<json> answers = by_id(outcome.out);
  REQUIRE(answers.size() == 5);
  CHECK(answers[0]["values"].size() == 1);
  CHECK(answers[1]["values"].size() == 3);
  CHECK(answers[1]["values"][0] == answers[0]["values"][0]);
  CHECK(answers[2]["error"] ==
        "epochs: trial 1 has these values, and 3 epochs by now; expected as many or more, found 2");
  CHECK(answers[3]["error"] == "epochs: expected a whole number from 1 to training.epochs, 4, found 9");
  CHECK(answers[4]["epochs"] == 4);
  CHECK(answers[4]["trial"] == 1);
  CHECK(contains(bytes("study/trial-0001/run.log"), "resuming from step"));
  REQUIRE(run_program(folder, "fit study/trial-0001/config.yaml --run-dir alone").exit_code == 0);
  CHECK(bytes("alone/model.safetensors") == bytes("study/trial-0001/model.safetensors"));
}

TEST_CASE_FIXTURE(Fixture, "a study that is killed gives the same answers when it is asked the same again") {
  std::string asked;
  for (int i = 0; i < 8; ++i) {
    asked += request(0.01 * (i + 1), i % 2 == 0 ? 4 : 16, fmt::format(R"(, "id": {})", i)) + "\n";
  }
  write_file(folder / "asked.jsonl", asked);
  const Outcome whole = tune("net.yaml --run-dir whole -q < asked.jsonl");
  REQUIRE_MESSAGE(whole.exit_code == 0, whole.err);
  const Outcome outcome = run_script(folder, R"sh(
    for lines in 3 8 12; do
      "$MIRRORTRAIN" tune net.yaml --run-dir parts -q < asked.jsonl > answers.jsonl & study=$!
      while [ -e /proc/$study/exe ] && [ $(cat parts/journal.jsonl 2> /dev/null | wc -l) -le $lines ]; do sleep 0.01; done
      kill -KILL $study
      wait $study
    done
    "$MIRRORTRAIN" tune net.yaml --run-dir parts -q < asked.jsonl)sh");
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  std::vector<json> expected = by_id(whole.out), found = by_id(outcome.out);
  REQUIRE(expected.size() == 8);
  for (std::vector<json>* const answers : {&expected, &found}) {
    for (json& answer : *answers) answer.erase("run");
  }
  CHECK(found == expected);
  CHECK(bytes("parts/best/model.safetensors") == bytes("whole/best/model.safetensors"));
}

TEST_CASE_FIXTURE(Fixture, "values that are only wrong together are an answer, and the same one once more") {
  write("pair.yaml",
        "search: {sampler: external, parameters: {gradients.clip_norm: {values: [1, null]}, gradients.clip_value: "
        "{values: [null, 2]}}}\n");
  const std::string pair = R"({"parameters": {"gradients.clip_norm": 1, "gradients.clip_value": 2}, "id": "wrong"})";
  write_file(folder / "asked.jsonl", pair + "\n");
  const Outcome first = tune("pair.yaml --run-dir study -q < asked.jsonl");
  CHECK_MESSAGE(first.exit_code == 1, first.err);
  const json answer = parsed(first.out);
  CHECK(answer["status"] == "failed");
  CHECK_FALSE(answer.contains("values"));
  CHECK(contains(answer["reason"], "clip_value"));
  CHECK_FALSE(fs::exists(folder / "study/trial-0001/metrics.jsonl"));
  const std::string journal = bytes("study/journal.jsonl");
  const Outcome again = tune("pair.yaml --run-dir study -q < asked.jsonl");
  CHECK_MESSAGE(again.exit_code == 1, again.err);
  CHECK(parsed(again.out) == answer);
  CHECK(bytes("study/journal.jsonl") == journal);
}

TEST_CASE_FIXTURE(Fixture,
                  "fewer epochs than a killed run has by now are refused, and no later epoch is taken for them") {
  write_file(folder / "nine.jsonl", request(0.05, 4, R"(, "epochs": 400)"));
  write_file(folder / "three.jsonl", request(0.05, 4, R"(, "epochs": 3, "id": 1)") + "\n" +
                                         request(0.05, 4, R"(, "epochs": 400, "id": 2)") + "\n");
  const Outcome outcome = run_script(folder, R"sh(
    set -- net.yaml --set training.epochs=400 --set checkpoint.every_steps=5 --run-dir study -q
    "$MIRRORTRAIN" tune "$@" < nine.jsonl & study=$!
    epochs() { grep -c '"event": "epoch"' study/trial-0001/metrics.jsonl; }
    until [ "$(epochs 2> /dev/null)" -ge 8 ] 2> /dev/null || ! [ -e /proc/$study/exe ]; do sleep 0.01; done
    kill -KILL $study
    wait $study
    "$MIRRORTRAIN" tune "$@" < three.jsonl)sh");
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  const std::vector<json> answers = by_id(outcome.out);
  REQUIRE(answers.size() == 2);
  CHECK_MESSAGE(contains(answers[0]["error"], "epochs: trial 1 has these values, and "), json_text(answers[0]));
  CHECK(contains(answers[0]["error"], "expected as many or more, found 3"));
  CHECK(answers[1]["status"] == "done");
  CHECK(answers[1]["values"].size() == 400);
}

TEST_CASE_FIXTURE(Fixture, "a program that ends early, or reads no answers, gets its study saved") {
  std::string asked;
  for (int i = 0; i < 8; ++i) asked += request(0.01 * (i + 1), 4, fmt::format(R"(, "id": {})", i)) + "\n";
  write_file(folder / "asked.jsonl", asked);
  // Nobody reads: the first answer ends the study as any error does.
  const Outcome closed = run_script(folder, R"sh(
    { "$MIRRORTRAIN" tune net.yaml --run-dir closed -q < asked.jsonl; echo $? > status; } | true
    cat status)sh");
  CHECK(closed.out == "1\n");
  CHECK_MESSAGE(contains(closed.err, "cannot write an answer to stdout: Broken pipe"), closed.err);
  CHECK_FALSE(fs::exists(folder / "closed/run.lock"));
  CHECK(contains(bytes("closed/journal.jsonl"), R"("event": "result")"));

  // A pipe that is full does not keep a signal from the study.
  std::string long_id(3000, 'x');
  write_file(
      folder / "long.jsonl", replaced(asked, R"("id": 0)", R"("id": ")" + long_id + "\"") + [&] {
        std::string wrong;
        for (int i = 0; i < 30; ++i) wrong += R"({"id": ")" + long_id + "\"}\n";
        return wrong;
      }());
  const Outcome full = run_script(folder, R"sh(
    mkfifo answers
    "$MIRRORTRAIN" tune net.yaml --run-dir full -q < long.jsonl > answers & study=$!
    exec 3< answers
    until grep -q '"event": "result"' full/journal.jsonl 2> /dev/null || ! [ -e /proc/$study/exe ]; do sleep 0.01; done
    kill -TERM $study
    wait $study)sh");
  CHECK_MESSAGE(full.exit_code == 143, full.err);
}

TEST_CASE_FIXTURE(Fixture, "with folds an answer has the mean, the deviation and each fold's value") {
  write_file(folder / "folds.yaml", replaced(kNet, "{fraction: 0.32}", "{folds: 2}") + kAsked);
  write_file(folder / "asked.jsonl", request(0.05, 4));
  const Outcome outcome = tune("folds.yaml -q < asked.jsonl");
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  const json answer = parsed(outcome.out);
  REQUIRE(answer["folds"].size() == 2);
  const double one = answer["folds"][0], other = answer["folds"][1];
  CHECK(answer["value"].get<double>() == doctest::Approx((one + other) / 2));
  CHECK(answer["deviation"].get<double>() == doctest::Approx(std::abs(one - other) / 2));
}

TEST_CASE_FIXTURE(Fixture, "a trial that fails is an answer, and what makes no sense with another program is refused") {
  write("wide.yaml", replaced(kAsked, "max: 1,", "max: 1.0e+38,"));
  write_file(folder / "asked.jsonl", request(1e38, 4));
  const Outcome failed = tune("wide.yaml -q < asked.jsonl");
  CHECK(failed.exit_code == 1);
  const json answer = parsed(failed.out);
  CHECK(answer["status"] == "failed");
  CHECK(answer["value"].is_null());
  CHECK(contains(answer["reason"], "the loss is"));

  const Outcome none = tune("net.yaml --run-dir none < /dev/null");
  CHECK(none.exit_code == 1);
  CHECK(contains(none.err, "stdin has ended before it asked for a trial"));
  CHECK(none.out.empty());
  CHECK(contains(tune("net.yaml --json - < /dev/null").err,
                 "--json -: with sampler: external stdout has a line of JSON"));
  CHECK(contains(tune("net.yaml --set search.pruner=successive_halving").err,
                 "search.pruner: with sampler: external the other program ends trials early"));
  CHECK(contains(tune("net.yaml --set search.sampler_seed=1").err,
                 "search.sampler_seed: sampler: external draws nothing"));

  write_file(folder / "two.jsonl", request(0.01, 4) + "\n" + request(0.02, 4) + "\n");
  const std::vector<json> limited = lines_of(tune("net.yaml --run-dir one --set search.trials=1 < two.jsonl").out);
  REQUIRE(limited.size() == 2);
  CHECK(contains(limited[0]["error"], "search.trials: the study has its 1 trials"));
}

}  // namespace
}  // namespace mirrortrain::testing::tune_asked_test
