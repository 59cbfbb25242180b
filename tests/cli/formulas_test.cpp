// Configurations with formulas: what a user reads of them, and what mistakes are answered.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "cli/program.h"
#include "error_text.h"

namespace mirrortrain::testing::formulas_test {
namespace {

const std::string kConfig = R"yaml(data:
  global_batch_size: 16
  train: {format: synthetic, examples: 80, shape: [4], label_shape: [1]}
  validation: {fraction: 0.25}
model:
  input_shape: [4]
  layers:
    - expression: {formula: "x * sigmoid(beta * x)", parameters: {beta: {shape: [4], initializer: ones}}}
    - dense: {units: 1}
loss: {type: formula, formula: "mean(square(y_true - y_pred))"}
metrics: [{formula: {name: rmse, formula: "square(y_true - y_pred)", finish: sqrt}}]
optimizer: {type: adam, learning_rate: 0.01}
training: {epochs: 2}
callbacks: [{early_stopping: {metric: rmse, mode: min}}]
)yaml";

std::string with(const std::string& from, const std::string& to) { return replaced(kConfig, from, to); }

TEST_CASE("formulas train, resume, evaluate and predict as everything else does") {
  const TemporaryFolder folder;
  write_file(folder / "a.yaml", kConfig);
  REQUIRE(run_program(folder, "fit a.yaml --run-dir run").exit_code == 0);
  const auto events = events_of(folder / "run/metrics.jsonl");
  const auto epoch = std::ranges::find_if(events, [](const auto& event) { return event.at("event") == "epoch"; });
  REQUIRE(epoch != events.end());
  CHECK(epoch->at("validation").at("metrics").contains("rmse"));
  // What was resolved is a configuration.
  CHECK(run_program(folder, "fit run/config.yaml --run-dir again").exit_code == 0);
  CHECK(read_file(folder / "run/model.safetensors") == read_file(folder / "again/model.safetensors"));
  CHECK(run_program(folder, "eval run --split validation").exit_code == 0);
  CHECK(run_program(folder, "verify a.yaml").exit_code == 0);
  CHECK(run_program(folder, "fit a.yaml --dry-run").out.find("expression/beta") != std::string::npos);
}

TEST_CASE("the averages of an epoch restart where its formulas changed") {
  const TemporaryFolder folder;
  write_file(folder / "a.yaml", kConfig);
  const std::string fit = "fit a.yaml --run-dir run --set callbacks=[] --set training.epochs=1 ";
  const auto metric = [](const std::string& formula) {
    return "--set 'metrics=[{formula: {name: rmse, formula: \"0 * y_pred + " + formula + "\"}}]' ";
  };
  REQUIRE(run_program(folder, fit + metric("1") + "--set training.steps=2").exit_code == 0);
  const Outcome resumed = run_program(folder, fit + metric("3") + "--resume");
  REQUIRE_MESSAGE(resumed.exit_code == 0, resumed.err);
  CHECK(contains(resumed.err, "the losses or metrics changed: this epoch's averages restart"));
  const auto events = events_of(folder / "run/metrics.jsonl");
  const auto epoch =
      std::find_if(events.rbegin(), events.rend(), [](const auto& one) { return one.at("event") == "epoch"; });
  REQUIRE(epoch != events.rend());
  CHECK(epoch->at("metrics").at("rmse").get<double>() == doctest::Approx(3));
}

TEST_CASE("a mistake in a formula is an error at its place, with a caret") {
  struct Mistake {
    std::string from, to, expected;
  };
  const Mistake mistakes[] = {
      {"sigmoid(beta * x)", "sigmoid(beta * x",
       "a.yaml:8:29: model.layers[0].expression.formula: in the formula, line 1, column 21: expected ')', found the "
       "end"},
      {"sigmoid(beta * x)", "sigmoid(bets * x)",
       "model.layers[0].expression: in the formula, line 1, column 13: there is no 'bets'; did you mean 'beta'?"},
      {"sigmoid(beta * x)", "sigmoid(beta ^ x)", "line 1, column 18: a power is written x ** 2"},
      {"sigmoid(beta * x)", "(x // 2)", "there is no remainder and no whole division"},
      {"sigmoid(beta * x)", "where(x > 0 && x < 1, x, 0)", "line 1, column 17: 'and' is written as a word"},
      {"sigmoid(beta * x)", "where(!x, x, 0)", "'not' is written as a word"},
      {"sigmoid(beta * x)", "(x if x else 0)", "a choice is written where(condition, a, b)"},
      {"\"x * sigmoid(beta * x)\"", "maximum(x, 0) * sum(beta)",
       "a.yaml:8:29: model.layers[0].expression.formula: a comma ends a text in braces, so that this one is "
       "'maximum(x'; "
       "put it in quotes: formula: \"maximum(x, 0) * sum(beta)\""},
      {"sigmoid(beta * x)", "sigmod(beta * x)", "there is no function 'sigmod'; did you mean 'sigmoid'?"},
      {"{shape: [4], initializer", "{shape: [3], initializer",
       "in the formula, line 1, column 18: expected shapes that are equal, or 1, in every axis from the last on; found "
       "[3] and [4]"},
      {"beta: {", "x1: {", "'x1' is an input of the layer; choose another name"},
      {"beta: {", "exp: {", "'exp' has a meaning in every formula; choose another name"},
      {"beta: {", "\"a b\": {", "expected names of letters, digits and '_', found 'a b'"},
      {"\"mean(square(y_true - y_pred))\"", "\"concatenate(y_true, y_pred, axis=0)\"",
       "a.yaml:10:1: loss: expected a formula that gives a single number for each example, found the shape [2]; put "
       "mean(...) or sum(...) around it"},
      {"mean(square(y_true", "mean(square(y_tru", "there is no 'y_tru'; did you mean 'y_true'?"},
      {"name: rmse", "name: loss", "'loss' is the name of what is trained for; choose another name"},
      {"finish: sqrt", "finish: root", "expected one of none, sqrt, exp"},
      {", mode: min", "",
       "'rmse' is a formula, of which it is not known whether more or less is better; add mode: min or mode: max"},
      {"formula: \"x * sigmoid(beta * x)\", ", "", "missing key 'formula'"},
      {"x * sigmoid(beta * x)\", parameters: {beta: {shape: [4]",
       "x * sum(b[:,None,None,None] * b[:,None,None] * b[:,None] * b)\", parameters: {b: {shape: [65536]",
       "[65536, 65536, 65536, 1] of an example are more numbers than any memory can hold"},
  };
  for (const Mistake& mistake : mistakes) {
    const TemporaryFolder folder;
    write_file(folder / "a.yaml", with(mistake.from, mistake.to));
    const Outcome outcome = run_program(folder, "config check a.yaml");
    CAPTURE(mistake.to);
    CHECK(outcome.exit_code == 2);
    CHECK_MESSAGE(contains(outcome.err, mistake.expected), outcome.err);
  }
}

TEST_CASE("a parameter that the formula does not read is warned of") {
  const TemporaryFolder folder;
  write_file(folder / "a.yaml", with("sigmoid(beta * x)", "sigmoid(x)"));
  const Outcome outcome = run_program(folder, "config check a.yaml");
  CHECK(outcome.exit_code == 0);
  CHECK_MESSAGE(
      contains(outcome.err, "the formula does not read the parameter 'beta', which is never trained; leave it out"),
      outcome.err);
}

TEST_CASE("what cannot train because a formula does not read it is refused or warned of") {
  const TemporaryFolder folder;
  const auto checked = [&](const std::string& from, const std::string& to) {
    write_file(folder / "a.yaml", with(from, to));
    return run_program(folder, "config check a.yaml");
  };
  const Outcome loss = checked("mean(square(y_true - y_pred))", "mean(square(y_true))");
  CHECK(loss.exit_code == 2);
  CHECK(contains(loss.err, "loss: expected a formula that reads y_pred"));
  const Outcome layer = checked("x * sigmoid(beta * x)", "beta * 2 + 0 * x[0:4]");
  CHECK(!contains(layer.err, "does not read its input"));
  const Outcome second = checked("\"x * sigmoid(beta * x)\", ", "\"x * sigmoid(beta * x)\", inputs: [input, input], ");
  CHECK(second.exit_code == 0);
  CHECK(contains(second.err, "the formula does not read its input x1"));
  CHECK(contains(checked("{type: formula,", "{type: formula, weight: 0,").err, "every loss has the weight 0"));
}

TEST_CASE("a formula compares numbers: class numbers and masks are refused") {
  const TemporaryFolder folder;
  write_file(folder / "a.yaml", R"yaml(data:
  global_batch_size: 16
  train: {format: synthetic, examples: 80, shape: [4], classes: 3}
model: {input_shape: [4], layers: [{dense: {units: 3}}]}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
metrics: [{formula: {name: error, formula: "y_true - y_pred"}}]
optimizer: {type: adam, learning_rate: 0.01}
)yaml");
  const Outcome classes = run_program(folder, "config check a.yaml");
  CHECK(classes.exit_code == 2);
  CHECK(contains(classes.err, "a formula compares numbers with the output, but the loss takes class numbers"));

  write_file(folder / "b.yaml", R"yaml(data:
  global_batch_size: 16
  train: {format: synthetic, examples: 80, shape: [4], below: 5, label_shape: [4, 2]}
model: {input_shape: [4], layers: [{embedding: {input_dim: 5, output_dim: 2, mask_zero: true}}]}
loss: {type: formula, formula: "mean(square(y_true - y_pred))"}
optimizer: {type: adam, learning_rate: 0.01}
)yaml");
  const Outcome masked = run_program(folder, "config check b.yaml");
  CHECK(masked.exit_code == 2);
  std::string text = read_text_file(folder / "b.yaml");
  text.replace(text.find("loss:"), text.find("optimizer:") - text.find("loss:"),
               "loss: mean_squared_error\nmetrics: [{formula: {name: m, formula: \"mean(y_true - y_pred)\"}}]\n");
  write_file(folder / "c.yaml", text);
  const Outcome metric = run_program(folder, "config check c.yaml");
  CHECK(metric.exit_code == 2);
  CHECK(contains(metric.err,
                 "the output carries a mask of padding, so that a formula has to keep its steps, [4], but "
                 "gives [1]"));
  CHECK_MESSAGE(contains(masked.err, "a formula gives one number for an example, so that it cannot leave padding out"),
                masked.err);
}

/// The formula that the program advises where `key` names what it has under another name only.
std::string advised(const TemporaryFolder& folder, const std::string& text) {
  write_file(folder / "foreign.yaml", text);
  const std::string answer = run_program(folder, "config check foreign.yaml").err;
  const std::size_t start = answer.find("formula: \""), end = answer.find('"', start + 10);
  REQUIRE_MESSAGE(end != std::string::npos, answer);
  const std::size_t finish = answer.find(", finish: ");
  return answer.substr(start, end + 1 - start) + (finish == answer.npos ? "" : answer.substr(finish, 14));
}

/// A model that hands on its input, with labels beside it.
std::string identity(const std::string& predicted, const std::string& labels, const std::string& rest) {
  return "data:\n  global_batch_size: 2\n  train: {format: inline, features: " + predicted + ", labels: " + labels +
         "}\nmodel: {input_shape: [" + std::to_string(std::count(predicted.begin(), predicted.end(), ',') / 2 + 1) +
         "], layers: [activation: {activation: linear}]}\noptimizer: sgd\ntraining: {steps: 1}\n" + rest;
}

double first_epoch(const TemporaryFolder& folder, const std::string& text, const std::string& metric) {
  write_file(folder / "a.yaml", text);
  fs::remove_all(folder / "run");
  const Outcome outcome = run_program(folder, "fit a.yaml --run-dir run");
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  for (const auto& event : events_of(folder / "run/metrics.jsonl")) {
    if (event.at("event") != "epoch") continue;
    return (metric == "loss" ? event.at("loss") : event.at("metrics").at(metric)).get<double>();
  }
  FAIL("no epoch");
  return 0;
}

TEST_CASE("the formula that is advised for a loss gives what the loss is known to give") {
  struct Case {
    std::string loss;
    double expected;
  };
  const std::string labels = "[[1, 2], [4, 5]]", predicted = "[[1.5, 1], [5, 5]]";
  const Case cases[] = {
      {"smape", (200 / 5. + 200 / 3. + 200 / 9. + 0) / 4},
      {"pinball", (0.05 + 0.9 + 0.1 + 0) / 4},
  };
  const TemporaryFolder folder;
  for (const Case& one : cases) {
    CAPTURE(one.loss);
    const std::string formula = advised(folder, identity(predicted, labels, "loss: {type: " + one.loss + "}\n"));
    const std::string text = identity(predicted, labels, "loss: {type: formula, " + formula + "}\n");
    CHECK(first_epoch(folder, text, "loss") == doctest::Approx(one.expected).epsilon(1e-5));
  }
}

TEST_CASE("the formula that is advised for a metric gives what the metric is known to give") {
  struct Case {
    std::string metric, labels, predicted;
    double expected;
  };
  const Case cases[] = {
      {"rmsle", "[[0, 1], [0, 0]]", "[[1, 1], [0, 0]]", 0.34657354},
      {"smape", "[[1, 2], [4, 5]]", "[[1.5, 1], [5, 5]]", (200 / 5. + 200 / 3. + 200 / 9. + 0) / 4},
  };
  const TemporaryFolder folder;
  for (const Case& one : cases) {
    CAPTURE(one.metric);
    const std::string loss = "loss: mean_squared_error\n";
    const std::string formula =
        advised(folder, identity(one.predicted, one.labels, loss + "metrics: [" + one.metric + "]\n"));
    const std::string text =
        identity(one.predicted, one.labels, loss + "metrics: [formula: {name: it, " + formula + "}]\n");
    CHECK(first_epoch(folder, text, "it") == doctest::Approx(one.expected).epsilon(1e-5));
  }
}

// The figures are those of Keras's documentation, but for dice and tversky, which it shows for other axes.
TEST_CASE("a loss gives Keras's number") {
  struct Case {
    std::string loss, labels, predicted;
    double expected;
  };
  const std::string parts = "[[1, 1, 0, 0], [1, 1, 0, 0]]", some = "[[0, 1, 0, 1], [0.4, 0, 0, 0.9]]";
  const Case cases[] = {
      {"mean_absolute_percentage_error", "[[0, 1], [0, 0]]", "[[1, 1], [1, 0]]", 500000000},
      {"mean_squared_logarithmic_error", "[[0, 1], [0, 0]]", "[[1, 1], [1, 0]]", 0.24022650},
      {"squared_hinge", "[[-1, 1], [-1, -1]]", "[[0.6, 0.4], [0.4, 0.6]]", 1.86},
      {"categorical_hinge", "[[0, 1], [0, 0]]", "[[0.6, 0.4], [0.4, 0.6]]", 1.4},
      {"dice", parts, some, 1 - 2 * 1.4 / 7.3},
      {"tversky", parts, some, 1 - 2 * 1.4 / 7.3},
      {"categorical_focal_crossentropy", "[[0, 1, 0], [0, 0, 1]]", "[[0.05, 0.95, 0], [0.1, 0.8, 0.1]]", 0.23315276},
  };
  const TemporaryFolder folder;
  for (const Case& one : cases) {
    CAPTURE(one.loss);
    const std::string text = identity(one.predicted, one.labels, "loss: {type: " + one.loss + "}\n");
    CHECK(first_epoch(folder, text, "loss") == doctest::Approx(one.expected).epsilon(1e-5));
  }
}

// The figures are those of Keras's documentation.
TEST_CASE("a metric gives Keras's number") {
  struct Case {
    std::string metric, labels, predicted;
    double expected;
  };
  const std::string labels = "[[0, 1], [0, 0]]", signs = "[[-1, 1], [-1, -1]]", some = "[[0.6, 0.4], [0.4, 0.6]]";
  const Case cases[] = {
      {"root_mean_squared_error", labels, "[[1, 1], [0, 0]]", 0.5},
      {"mean_absolute_percentage_error", labels, "[[1, 1], [0, 0]]", 250000000},
      {"mean_squared_logarithmic_error", labels, "[[1, 1], [0, 0]]", 0.12011322},
      {"log_cosh_error", labels, "[[1, 1], [0, 0]]", 0.10844523},
      {"cosine_similarity", "[[0, 1], [1, 1]]", "[[1, 0], [1, 1]]", 0.5},
      {"poisson", labels, "[[1, 1], [0, 0]]", 0.5},
      {"hinge", signs, some, 1.3},
      {"squared_hinge", signs, some, 1.86},
      {"binary_crossentropy", labels, some, 0.81492424},
  };
  const TemporaryFolder folder;
  for (const Case& one : cases) {
    CAPTURE(one.metric);
    const std::string text =
        identity(one.predicted, one.labels, "loss: mean_squared_error\nmetrics: [" + one.metric + "]\n");
    CHECK(first_epoch(folder, text, one.metric) == doctest::Approx(one.expected).epsilon(1e-5));
  }
}

}  // namespace
}  // namespace mirrortrain::testing::formulas_test
