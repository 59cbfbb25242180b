// What can be trained but is hardly meant: the warnings of fit and config check.
#include <doctest/doctest.h>

#include "cli/program.h"
#include "error_text.h"

namespace mirrortrain::testing {
namespace {

/// Flowers of three kinds by two features, in a CSV file.
struct Fixture {
  TemporaryFolder folder;
  Fixture() {
    std::string rows = "length,width,kind\n";
    for (int i = 0; i < 60; ++i) rows += fmt::format("{},{},{}\n", 0.1 * (i % 7) + i % 3, 0.05 * (i % 5), i % 3);
    write_file(folder / "flowers.csv", rows);
  }

  /// fit's answer with these parts of the configuration.
  Outcome fit(const std::string& last, const std::string& loss, const std::string& more = "",
              const std::string& arguments = "") {
    write_file(folder / "m.yaml", fmt::format(R"(data:
  global_batch_size: 20
  train: {{format: csv, file: flowers.csv, labels: kind}}
model:
  input_shape: [2]
  layers:
    - dense: {{units: 8, activation: relu}}
    - dense: {}
loss: {}
optimizer: sgd
{})",
                                              last, loss, more));
    fs::remove_all(folder / "runs");
    return run_program(folder, "fit m.yaml " + arguments);
  }
};

constexpr const char* kSparse = "{type: sparse_categorical_crossentropy, from_logits: true}";

TEST_CASE_FIXTURE(Fixture, "a loss that does not fit the last activation is a warning at both lines") {
  struct Row {
    const char *last, *loss, *warning;
  };
  const Row rows[] = {
      {"{units: 3}", "sparse_categorical_crossentropy", "set from_logits: true, or add activation: softmax"},
      {"{units: 3, activation: relu}", "sparse_categorical_crossentropy", "set from_logits: true"},
      {"{units: 3, activation: softmax}", kSparse, "would be applied twice; set from_logits: false"},
      {"{units: 3, activation: sigmoid}", kSparse, "would be applied twice"},
      {"{units: 3, activation: relu}", kSparse, "relu makes every logit below 0 a 0"},
      {"{units: 3, activation: sigmoid}", "sparse_categorical_crossentropy",
       "use softmax where each example has one class"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.warning);
    const Outcome outcome = fit(row.last, row.loss);
    CHECK(outcome.exit_code == 0);
    CHECK_MESSAGE(contains(outcome.err, "warning: m.yaml:9:1: loss: "), outcome.err);
    CHECK(contains(outcome.err, row.warning));
    CHECK(contains(outcome.err, "(the layer: m.yaml:8:7: model.layers[1].dense)"));
    CHECK(contains(run_program(folder, "config check m.yaml").err, row.warning));
  }
  for (const auto& [last, loss] : {std::pair("{units: 3}", kSparse),
                                   std::pair("{units: 3, activation: softmax}", "sparse_categorical_crossentropy")}) {
    CHECK_FALSE(contains(fit(last, loss).err, "warning"));
  }
}

TEST_CASE_FIXTURE(Fixture, "class numbers are no quantities, and accuracy means nothing for a regression") {
  const Outcome outcome = fit("{units: 1}", "mean_squared_error", "metrics: [accuracy]");
  CHECK_MESSAGE(contains(outcome.err, "the labels look like class numbers, 0 to 2"), outcome.err);
  CHECK(contains(outcome.err, "metrics[0].accuracy: accuracy compares classes, but mean_squared_error trains numbers"));
}

TEST_CASE_FIXTURE(Fixture, "an output that a loss cannot take the logarithm of is warned of") {
  CHECK(contains(fit("{units: 1}", "poisson").err,
                 "has to be above 0, but the last layer has no activation; add activation: exponential"));
  CHECK(contains(fit("{units: 1, activation: relu}", "kl_divergence", "", "--set 'data.train.labels=width'").err,
                 "kl_divergence compares probabilities"));
}

TEST_CASE_FIXTURE(Fixture, "counts and one-hot labels are no class numbers") {
  CHECK_FALSE(contains(fit("{units: 1, activation: exponential}", "poisson").err, "class numbers"));
  const Outcome one_hot =
      fit("{units: 3}", "mean_squared_error", "", "--set 'data.preprocessing=[{one_hot: {depth: 3}}]'");
  CHECK(one_hot.exit_code == 0);
  CHECK_MESSAGE(!contains(one_hot.err, "class numbers"), one_hot.err);
}

TEST_CASE_FIXTURE(Fixture, "what changes nothing is an error or a warning") {
  CHECK(contains(fit("{units: 3, use_bias: false, bias_regularizer: {l2: 0.1}}", kSparse).err,
                 "there is no bias, as use_bias is false"));
  CHECK(contains(
      fit("{units: 3}", kSparse, "", "--set 'model.layers=[{repeat: {times: 2, layers: []}}, {dense: {units: 3}}]'")
          .err,
      "expected at least one layer, found none"));
  CHECK(contains(fit("{units: 3}", kSparse, "variables: [{match: \"*/kernal\", aggregation: sum}]\n").err,
                 "warning: m.yaml:11:13: variables[0]: no variable is left for '*/kernal'"));
  CHECK(contains(fit("{units: 3, trainable: false}", kSparse, "", "--set 'model.layers[0].dense.trainable=false'").err,
                 "no layer has weights to train"));
  CHECK(contains(fit("{units: 3}", kSparse, "", "--set 'optimizer={type: sgd, nesterov: true}'").err,
                 "warning: optimizer.nesterov: changes nothing while momentum is 0"));
  CHECK(contains(fit("{units: 3}\n    - dropout: {rate: 0.5}", kSparse).err,
                 "warning: m.yaml:9:7: model.layers[2].dropout: sets outputs of the model to 0 in training"));
}

TEST_CASE_FIXTURE(Fixture, "a softmax over one class is an error: nothing can be trained") {
  const Outcome outcome = fit("{units: 1, activation: softmax}", "mean_squared_error");
  CHECK(outcome.exit_code == 2);
  CHECK(contains(outcome.err, "m.yaml:8:7: model.layers[1].dense: softmax over one output is always 1"));
}

TEST_CASE_FIXTURE(Fixture, "accumulating over more steps than there are is an error") {
  const Outcome outcome = fit("{units: 3}", kSparse, "gradients: {accumulate_steps: 4}\n");
  CHECK(outcome.exit_code == 2);
  CHECK_MESSAGE(contains(outcome.err, "gradients.accumulate_steps: 4 is more than the 3 steps of this run"),
                outcome.err);
  CHECK_FALSE(fs::exists(folder / "runs"));
  CHECK(fit("{units: 3}", kSparse, "gradients: {accumulate_steps: 4}\n", "--set training.epochs=2").exit_code == 0);
}

TEST_CASE_FIXTURE(Fixture, "sizes that are hardly meant are warned of") {
  CHECK(contains(fit("{units: 3}", kSparse, "", "--set data.global_batch_size=100").err,
                 "--set data.global_batch_size: 100 is more than the 60 training examples"));
  CHECK(contains(fit("{units: 3}", kSparse, "", "--set 'data.validation={fraction: 0.02}' --set training.steps=1").err,
                 "data.validation: validation has 2 examples"));
}

TEST_CASE_FIXTURE(Fixture, "features of different scales and labels of one class are warned of") {
  std::string rows = "length,income,kind\n";
  for (int i = 0; i < 60; ++i) rows += fmt::format("{},{},1\n", 0.1 * (i % 7), 10000.0 + 500 * (i % 11));
  write_file(folder / "flowers.csv", rows);
  const Outcome outcome = fit("{units: 3}", kSparse);
  CHECK_MESSAGE(contains(outcome.err, "data.train: features differ in scale"), outcome.err);
  CHECK(contains(outcome.err, "every label is 1"));
  CHECK_FALSE(contains(fit("{units: 3}", kSparse, "",
                           "--set 'data.preprocessing=[{normalization: {mean: [0, 10000], variance: [1, 1000000]}}]'")
                           .err,
                       "differ in scale"));
}

TEST_CASE_FIXTURE(Fixture, "-q leaves warnings and results alone") {
  const Outcome outcome = fit("{units: 3}", kSparse, "", "-q");
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.err.empty());
}

TEST_CASE_FIXTURE(Fixture, "a mask of padding that ends at a layer is told by config check and fit") {
  write_file(folder / "masked.yaml", R"(data:
  global_batch_size: 2
  train: {format: inline, features: [[1, 2, 0], [3, 0, 0], [2, 1, 1]], labels: [0, 1, 0]}
model:
  input_shape: [3]
  layers:
    - embedding: {input_dim: 4, output_dim: 2, mask_zero: true}
    - flatten
    - dense: {units: 1, activation: sigmoid}
loss: binary_crossentropy
optimizer: sgd
strategy: {devices: [cpu:0]}
)");
  const std::string warning =
      "warning: masked.yaml:8:7: model.layers[1].flatten: the mask of the padding ends here, as flatten carries none "
      "on: "
      "later layers, loss and metrics count padding like anything else";
  for (const char* const command : {"config check masked.yaml", "fit masked.yaml"}) {
    CAPTURE(command);
    const Outcome outcome = run_program(folder, command);
    CHECK(outcome.exit_code == 0);
    CHECK(contains(outcome.err + outcome.out, warning));
  }
}

}  // namespace
}  // namespace mirrortrain::testing
