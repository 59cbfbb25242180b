// Options that can be trained with but are hardly meant: the warnings of fit and config check.
#include <doctest/doctest.h>

#include "cli/program.h"
#include "cli/table_of_flowers.h"
#include "error_text.h"

namespace mirrortrain::testing::option_warnings_test {
namespace {

using Fixture = TableOfFlowers;

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

TEST_CASE_FIXTURE(Fixture, "an activation that keeps the output from what the loss wants is warned of") {
  struct Row {
    const char *last, *loss, *warning;
  };
  const Row rows[] = {
      {"{units: 3, activation: tanh}", kSparse, "tanh keeps every logit between -1 and 1; remove the tanh"},
      {"{units: 3, activation: softsign}", kSparse, "softsign keeps every logit between -1 and 1"},
      {"{units: 3, activation: relu6}", kSparse, "relu6 keeps every logit between 0 and 6"},
      {"{units: 3, activation: softplus}", kSparse, "softplus keeps every logit above 0"},
      {"{units: 3, activation: exponential}", kSparse, "exponential keeps every logit above 0"},
      {"{units: 1, activation: sigmoid}", "hinge", "but sigmoid keeps every output between 0 and 1; use tanh"},
      {"{units: 2, activation: softmax}", "hinge", "but softmax keeps every output between 0 and 1"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.warning);
    fit(row.last, row.loss);
    const Outcome outcome = run_program(folder, "config check m.yaml --no-data");
    CHECK_MESSAGE(contains(outcome.err, row.warning), outcome.err);
  }
  fit("{units: 1, activation: tanh}", "hinge");
  CHECK_FALSE(contains(run_program(folder, "config check m.yaml --no-data").err, "keeps every"));
  const std::string of_length = "--set data.train.labels=length";
  const Outcome sigmoid = fit("{units: 1, activation: sigmoid}", "mean_squared_error", "", of_length);
  CHECK_MESSAGE(
      contains(sigmoid.err, "labels go from 0 to 2.6, but the activation of the last layer gives 0 to 1 alone"),
      sigmoid.err);
  CHECK_FALSE(contains(fit("{units: 1, activation: relu}", "mean_squared_error", "", of_length).err, "labels go from"));
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
                 "for one output take binary_crossentropy with activation: sigmoid"));
}

TEST_CASE_FIXTURE(Fixture, "layers that join probabilities are taken for no layer without an activation") {
  const auto joined = [&](const std::string& activation, const std::string& how) {
    return fit("{units: 3}", "sparse_categorical_crossentropy", "",
               "--set 'model.layers=[{dense: {units: 3, activation: " + activation +
                   ", inputs: [input], name: p}}, {dense: {units: 3, activation: " + activation +
                   ", inputs: [input], name: q}}, " + how + "]'")
        .err;
  };
  const std::string warning = "but the last layer has no activation";
  for (const char* const how : {"{average: {inputs: [p, q]}}", "{multiply: {inputs: [p, q]}}",
                                "{expression: {formula: \"0.3 * x0 + 0.7 * x1\", inputs: [p, q]}}"}) {
    CAPTURE(how);
    CHECK_FALSE(contains(joined("softmax", how), warning));
  }
  CHECK(contains(joined("linear", "{average: {inputs: [p, q]}}"), warning));
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
                 "optimizer.nesterov: changes nothing while momentum is 0"));
  CHECK(contains(fit("{units: 3}", kSparse, "state: [{name: loss, initial_value: 0}]\n").err,
                 "m.yaml:11:9: state[0]: 'loss' is a figure of the model; choose another name"));
  CHECK(contains(fit("{units: 3}", kSparse, "", "--set 'data.preprocessing=[{rescaling: {scale: 0}}]'").err,
                 "scale: 0 makes all examples equal"));
  CHECK(contains(fit("{units: 3}\n    - dropout: {rate: 0.5}", kSparse).err,
                 "warning: m.yaml:9:7: model.layers[2].dropout: sets outputs of the model to 0 in training"));
}

TEST_CASE_FIXTURE(Fixture, "options that are hardly meant are warned of at their place") {
  struct Row {
    const char *last, *more, *set, *warning;
  };
  const Row rows[] = {
      {"{units: 3, activation: softmax}\n    - softmax", "", "",
       "softmax is applied to the output of softmax, which is"},
      {"{units: 3, activation: relu}\n    - softmax", "", "",
       "m.yaml:9:7: model.layers[2].softmax: softmax is applied to"},
      {"{units: 3}", "", "--set optimizer.learning_rate=0", "optimizer.learning_rate: is 0, so no weight ever changes"},
      {"{units: 3}",
       "metrics: [accuracy]\ncallbacks:\n  - early_stopping: {metric: accuracy, mode: min, split: train}\n", "",
       "m.yaml:13:30: callbacks[0].early_stopping.metric: 'accuracy' is better the larger it is"},
      {"{units: 3}\n    - batch_normalization: {momentum: 0.1}", "", "", "PyTorch's 0.1 is 0.9 here"},
      {"{units: 3}", "", "--set 'data.validation={format: csv, file: flowers.csv, labels: kind}'",
       "data.validation: these are the training data"},
      {"{units: 3}", "", "--set 'data.preprocessing=[{rescaling: {scale: 0.00392}}]'", "remove rescaling from"},
      {"{units: 3}", "", "--set 'strategy.cluster={workers: [\"localhost:7001\", \"localhost:7002\"]}'",
       "strategy.cluster: is not used: mirrored trains in one process; use type: multi_worker_mirrored"},
      {"{units: 3}", "", "--set 'strategy={devices: [cpu:0], cpu_replicas: 3}'",
       "strategy.cpu_replicas: is for `devices: all`"},
      {"{units: 3}", "",
       "--set 'optimizer={type: adam, learning_rate: {schedule: cosine_decay, initial_learning_rate: 0, decay_steps: "
       "9, "
       "warmup_target: 0.1, warmup_steps: 50}}'",
       "50 is not less than the 3 steps of this run"},
  };
  std::string numbers = "length,width,kind\n";
  for (int i = 0; i < 60; ++i) numbers += fmt::format("{},{},{}\n", 0.1 * (i % 7), 0.05 * (i % 5), i % 3);
  write_file(folder / "flowers.csv", numbers);
  for (const Row& row : rows) {
    CAPTURE(row.warning);
    const Outcome outcome = fit(row.last, kSparse, row.more, row.set);
    CHECK_MESSAGE(contains(outcome.err, row.warning), outcome.err);
    const Outcome checked = run_program(folder, fmt::format("config check m.yaml {}", row.set));
    CHECK_MESSAGE(contains(checked.err, row.warning), checked.err);
  }
  std::string prices = "length,width,price\n";
  for (int i = 0; i < 60; ++i) prices += fmt::format("{},{},{}\n", 0.1 * (i % 7), 0.05 * (i % 5), 300000 + 700 * i);
  write_file(folder / "flowers.csv", prices);
  const Outcome large = fit("{units: 1}", "mean_squared_error", "", "--set data.train.labels=price");
  CHECK_MESSAGE(contains(large.err, "divide the labels in the data by 100000"), large.err);
}

TEST_CASE_FIXTURE(Fixture, "a model of text that sees what it is to predict is warned of") {
  write_file(folder / "text.txt", std::string(400, 'a') + std::string(400, 'b'));
  const char* const text = R"(data:
  global_batch_size: 4
  train: {format: text, file: text.txt, window: 8}
model:
  input_shape: [8]
  layers:
    - embedding: {input_dim: 256, output_dim: 4}
    - LAYER
    - dense: {units: 256}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
optimizer: adam
)";
  const auto check = [&](const std::string& layer) {
    std::string written = text;
    write_file(folder / "t.yaml", written.replace(written.find("LAYER"), 5, layer));
    return run_program(folder, "config check t.yaml --no-data").err;
  };
  CHECK(contains(check("multi_head_attention: {num_heads: 1, key_dim: 4}"),
                 "t.yaml:8:7: model.layers[1].multi_head_attention: sees the text after each place"));
  CHECK_FALSE(contains(check("multi_head_attention: {num_heads: 1, key_dim: 4, use_causal_mask: true}"), "warning"));
  for (const std::string cell : {"lstm", "gru"}) {
    CHECK(contains(check(cell + ": {units: 4, return_sequences: true, go_backwards: true}"),
                   "t.yaml:8:7: model.layers[1]." + cell + ": goes backwards, and so sees the text after each place"));
    CHECK_FALSE(contains(check(cell + ": {units: 4, return_sequences: true}"), "warning"));
  }
  for (const char* const flip : {"flip", "flip: {axis: 1}", "flip: {axis: -2}"}) {
    CHECK(contains(check(flip), "t.yaml:8:7: model.layers[1].flip: reverses the steps, and so shows the text after"));
  }
  CHECK_FALSE(contains(check("flip: {axis: 2}"), "warning"));
  CHECK_FALSE(contains(check("flip: {axis: -1}"), "warning"));
}

TEST_CASE_FIXTURE(Fixture, "a mask of the first token of a vocabulary is warned of") {
  write_file(folder / "text.txt", std::string(400, 'a') + std::string(400, 'b'));
  write_file(folder / "letters.json", R"(["a", "b"])");
  const auto check = [&](const std::string& vocabulary) {
    write_file(folder / "t.yaml", fmt::format(R"(data:
  global_batch_size: 4
  train: {{format: text, file: text.txt, window: 8{}}}
model:
  input_shape: [8]
  layers:
    - embedding: {{input_dim: 256, output_dim: 4, mask_zero: true}}
    - dense: {{units: 256}}
loss: {{type: sparse_categorical_crossentropy, from_logits: true}}
optimizer: adam
)",
                                              vocabulary));
    return run_program(folder, "config check t.yaml --no-data").err;
  };
  CHECK(contains(check(", vocabulary: letters.json"),
                 "t.yaml:7:7: model.layers[0].embedding: mask_zero takes the token 0 for padding"));
  CHECK_FALSE(contains(check(""), "warning"));  // a text has no byte 0
}

TEST_CASE_FIXTURE(Fixture, "steps that are never accumulated are told beside a batch that never is whole") {
  REQUIRE(fit("{units: 3}", kSparse, "").exit_code == 0);
  const std::string sets =
      " m.yaml --set data.global_batch_size=1000 --set data.drop_remainder=true --set gradients.accumulate_steps=50";
  for (const char* const steps : {"", " --set training.epochs=null --set training.steps=2"}) {
    for (const char* const command : {"fit", "config check"}) {
      CAPTURE(command);
      CAPTURE(steps);
      const Outcome outcome = run_program(folder, command + sets + steps);
      CHECK(outcome.exit_code == 2);
      CHECK_MESSAGE(contains(outcome.err, "gradients.accumulate_steps: 50 is more than the"), outcome.err);
      const bool before_data = std::string(command) == "fit" && *steps != '\0';
      CHECK_MESSAGE(contains(outcome.err, "data.drop_remainder: leaves no batch") != before_data, outcome.err);
    }
  }
}

TEST_CASE_FIXTURE(Fixture, "an empty list is [], and null says so") {
  REQUIRE(fit("{units: 3}", kSparse, "").exit_code == 0);
  for (const char* const key : {"data.preprocessing", "metrics", "callbacks"}) {
    CAPTURE(key);
    const Outcome outcome = run_program(folder, fmt::format("config check m.yaml --set {}=null", key));
    CHECK_MESSAGE(contains(outcome.err, "found null; write [] for none"), outcome.err);
    CHECK(run_program(folder, fmt::format("config check m.yaml --set {}=[]", key)).exit_code == 0);
  }
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
}  // namespace mirrortrain::testing::option_warnings_test
