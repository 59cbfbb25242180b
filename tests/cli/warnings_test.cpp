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

TEST_CASE_FIXTURE(Fixture,
                  "a split of one class, as of sorted data, and a rescaling that changes nothing are warned of") {
  std::string rows = "length,width,kind\n", one = rows;
  for (int i = 0; i < 60; ++i) rows += fmt::format("{},{},{}\n", 300 * (i % 7), 0.05 * (i % 5), i / 20);
  for (int i = 0; i < 12; ++i) one += fmt::format("{},{},1\n", 300 * (i % 7), 0.05 * (i % 5));
  write_file(folder / "flowers.csv", rows);
  write_file(folder / "one.csv", one);
  const std::string checks = "--set 'data.validation={fraction: 0.2}' ";
  const Outcome sorted = fit("{units: 3}", kSparse, "", checks);
  CHECK_MESSAGE(contains(sorted.err,
                         "data.validation: every label of validation is 2, though the training data have "
                         "others; are the data sorted by class? add shuffle: true beside fraction"),
                sorted.err);
  CHECK(contains(run_program(folder, "config check m.yaml " + checks).err, "every label of validation is 2"));
  CHECK_FALSE(contains(fit("{units: 3}", kSparse, "", "--set 'data.validation={fraction: 0.2, shuffle: true}'").err,
                       "every label"));
  CHECK(contains(fit("{units: 3}", kSparse, "", "--set 'data.test={format: csv, file: one.csv, labels: kind}'").err,
                 "every label of test is 1"));
  const auto with_scale = [&](const char* scale) {
    return fit("{units: 3}", kSparse, "",
               fmt::format("--set 'data.preprocessing=[{{rescaling: {{scale: {}}}}}]'", scale));
  };
  CHECK(contains(with_scale("1.0").err, "features differ in scale"));
  CHECK_FALSE(
      contains(fit("{units: 3}", kSparse, "", "--set 'data.preprocessing=[{normalization: {adapt: true}}]'").err,
               "features differ"));
}

TEST_CASE_FIXTURE(Fixture, "config check refuses what fit would refuse before its first step") {
  struct Row {
    const char *set, *answer;
  };
  const Row rows[] = {
      {"--set training.steps=3 --set gradients.accumulate_steps=4",
       "gradients.accumulate_steps: 4 is more than the 3 steps of this run"},
      {"--set training.epochs=2 --set gradients.accumulate_steps=7",
       "gradients.accumulate_steps: 7 is more than the 6 steps of this run"},
      {"--set data.global_batch_size=1000 --set data.drop_remainder=true",
       "data.drop_remainder: leaves no batch: the 60 training examples are less than the global batch of 1000"},
      {"--set model.initial_weights=other.safetensors", "the weights do not fit the model"},
      {"--set model.initial_weights=eighth.safetensors", "\"F8_E5M2\""},
      {"--set 'data.validation={fraction: 0.999}'", "data.validation: a fraction of 0.999 of the 60 examples in"},
  };
  REQUIRE(fit("{units: 4}", kSparse, "", "--run-dir other").exit_code == 0);
  fs::copy(folder / "other/model.safetensors", folder / "other.safetensors");
  const std::string header = R"({"dense/kernel":{"dtype":"F8_E5M2","shape":[1],"data_offsets":[0,1]}})";
  std::string file = std::string(8, '\0') + header + std::string(1, '\0');
  file[0] = static_cast<char>(header.size());
  write_file(folder / "eighth.safetensors", file);
  for (const Row& row : rows) {
    CAPTURE(row.set);
    const Outcome fitted = fit("{units: 3}", kSparse, "", row.set);
    CHECK(fitted.exit_code != 0);
    CHECK_MESSAGE(contains(fitted.err, row.answer), fitted.err);
    const Outcome checked = run_program(folder, fmt::format("config check m.yaml {}", row.set));
    CHECK(checked.exit_code != 0);
    CHECK_MESSAGE(contains(checked.err, row.answer), checked.err);
    CHECK(contains(checked.err, "\n1 error\n"));
    CHECK_FALSE(contains(checked.err, "takes all of them"));
  }
  REQUIRE(fit("{units: 3}", kSparse, "", "--run-dir same").exit_code == 0);
  const Outcome several = run_program(
      folder,
      "config check m.yaml --set data.global_batch_size=1000 --set data.drop_remainder=true --set "
      "model.initial_weights=other.safetensors --set 'data.test={format: csv, file: flowers.csv, labels: none}'");
  CHECK_MESSAGE(contains(several.err, "\n3 errors\n"), several.err);  // in one go
  const Outcome accumulated = run_program(folder, "config check m.yaml --set gradients.accumulate_steps=50");
  CHECK(accumulated.exit_code == 2);  // as of fit
  CHECK(run_program(folder, "config check m.yaml --set model.initial_weights=same/model.safetensors").exit_code == 0);
}

TEST_CASE_FIXTURE(Fixture, "what is wrong with the training data is no error of the test data") {
  fs::copy(folder / "flowers.csv", folder / "test.csv");
  const std::string test = " --set 'data.test={format: csv, file: test.csv, labels: kind}'";
  for (const char* const set :
       {"--set data.train.file=none.csv", "--set data.train.labels=knd", "--set 'data.validation={fraction: 0.999}'"}) {
    CAPTURE(set);
    fit("{units: 3}", kSparse, "", "--dry-run");
    const Outcome outcome = run_program(folder, fmt::format("config check m.yaml {}{}", set, test));
    CHECK(outcome.exit_code == 1);
    CHECK_MESSAGE(contains(outcome.err, "\n1 error\n"), outcome.err);
    CHECK_FALSE(contains(outcome.err, "data.test"));
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
                 "for one output take binary_crossentropy with activation: sigmoid"));
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
                 "optimizer.nesterov: changes nothing while momentum is 0"));
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

TEST_CASE_FIXTURE(Fixture, "a step that changes what an embedding looks up is an error at its line") {
  write_file(folder / "e.yaml", R"(data:
  global_batch_size: 2
  train: {format: inline, features: [[1, 2], [3, 0]], labels: [0, 1]}
  preprocessing:
    - rescaling: {scale: 0.5}
model:
  input_shape: [2]
  layers:
    - embedding: {input_dim: 4, output_dim: 2}
    - flatten
    - dense: {units: 1, activation: sigmoid}
loss: binary_crossentropy
optimizer: sgd
)");
  const Outcome outcome = run_program(folder, "config check e.yaml");
  CHECK(outcome.exit_code == 2);
  CHECK_MESSAGE(contains(outcome.err, "e.yaml:5:7: data.preprocessing[0].rescaling: rescaling changes the numbers"),
                outcome.err);
}

TEST_CASE_FIXTURE(Fixture, "quoted decimal commas between commas are read, and advised where they are not") {
  std::string rows = "length,width,kind\n";
  for (int i = 0; i < 60; ++i) rows += fmt::format("\"0,{}\",\"-1,{}\",{}\n", 10 + i, 90 - i, i % 3);
  write_file(folder / "flowers.csv", rows);
  const Outcome advised = fit("{units: 3}", kSparse);
  CHECK(advised.exit_code == 1);
  CHECK_MESSAGE(contains(advised.err, "set `decimal: \",\"`"), advised.err);
  CHECK(fit("{units: 3}", kSparse, "", "--set data.train.decimal=,").exit_code == 0);
  CHECK(fit("{units: 3}", kSparse, "", "--set data.train.decimal=, --set data.train.delimiter=,").exit_code == 0);
  CHECK(contains(run_program(folder, "init flowers.csv").out, "decimal: \",\""));
}

TEST_CASE_FIXTURE(Fixture,
                  "fit tells errors of the data at the split, as config check does, and of moved files the --set") {
  const std::string missing = "there is no column 'none' in the header";
  CHECK(contains(fit("{units: 3}", kSparse, "", "--set data.train.labels=none").err, missing));
  const Outcome shape = fit("{units: 3}", kSparse, "", "--set model.input_shape=5");
  CHECK_MESSAGE(contains(shape.err, "m.yaml:3:3: data.train: "), shape.err);
  CHECK(contains(run_program(folder, "config check m.yaml --set model.input_shape=5").err, "m.yaml:3:3: data.train: "));

  REQUIRE(fit("{units: 3}", kSparse, "", "--run-dir kept").exit_code == 0);
  fs::rename(folder / "flowers.csv", folder / "moved.csv");
  for (const char* const command :
       {"eval kept --split train", "predict kept --split train", "fit --resume kept --set training.epochs=9"}) {
    CAPTURE(command);
    const Outcome moved = run_program(folder, command);
    CHECK(moved.exit_code == 1);
    CHECK_MESSAGE(contains(moved.err, "if it was moved, say where it is: --set data.train.file=PATH"), moved.err);
  }
  CHECK(run_program(folder, "eval kept --split train --set data.train.file=moved.csv").exit_code == 0);
}

TEST_CASE_FIXTURE(Fixture, "files are moved data only where the configuration is a run's own") {
  REQUIRE(fit("{units: 3}", kSparse, "").exit_code == 0);
  fs::copy(folder / "m.yaml", folder / "config.yaml");
  fs::remove(folder / "flowers.csv");
  const Outcome own = run_program(folder, "config check config.yaml");
  CHECK(contains(own.err, "does not exist"));
  CHECK_FALSE_MESSAGE(contains(own.err, "if it was moved"), own.err);
}

TEST_CASE_FIXTURE(Fixture, "steps that take pictures are told at their line where the data are a table") {
  REQUIRE(fit("{units: 3}", kSparse, "").exit_code == 0);
  std::string text = read_text_file(folder / "m.yaml");
  text.replace(text.find("data:\n"), 6, "data:\n  preprocessing:\n    - random_flip\n");
  write_file(folder / "p.yaml", text);
  for (const char* const command : {"fit p.yaml", "config check p.yaml"}) {
    CAPTURE(command);
    const Outcome outcome = run_program(folder, command);
    CHECK(outcome.exit_code == 1);
    CHECK_MESSAGE(contains(outcome.err, "p.yaml:3:7: data.preprocessing[0].random_flip: random_flip takes pictures"),
                  outcome.err);
    CHECK_FALSE(contains(outcome.err, "data.train"));
  }
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

TEST_CASE_FIXTURE(Fixture, "predict advises on decimal commas and shapes for its own command line") {
  REQUIRE(fit("{units: 3}", kSparse, "", "--run-dir kept").exit_code == 0);
  write_file(folder / "eu.csv", "length;width\n0,5;1,25\n");
  const Outcome advised = run_program(folder, "predict kept --data eu.csv");
  CHECK(advised.exit_code == 1);
  CHECK_MESSAGE(contains(advised.err, "give `--set data.train.decimal=,`"), advised.err);
  CHECK(run_program(folder, "predict kept --data eu.csv --set data.train.decimal=,").exit_code == 0);

  write_file(folder / "pictures.yaml",
             "model: {input_shape: [4, 4, 1], layers: [flatten, dense: {units: 2}]}\n"
             "loss: {type: sparse_categorical_crossentropy, from_logits: true}\noptimizer: adam\ntraining: {steps: 1}\n"
             "data:\n  global_batch_size: 4\n  preprocessing: [random_flip]\n"
             "  train: {format: synthetic, examples: 8, shape: [4, 4, 1], classes: 2}\n");
  REQUIRE(run_program(folder, "fit pictures.yaml --run-dir pictures").exit_code == 0);
  const Outcome table = run_program(folder, "predict pictures --data flowers.csv");
  CHECK(table.exit_code == 1);
  CHECK_MESSAGE(contains(table.err, "the model was trained on examples of [4, 4, 1]"), table.err);
  CHECK_FALSE_MESSAGE(contains(table.err, "leave it out"), table.err);
}

TEST_CASE_FIXTURE(Fixture, "a dry run refuses what the run would of its folder") {
  REQUIRE(fit("{units: 3}", kSparse, "", "--run-dir kept").exit_code == 0);
  CHECK(contains(run_program(folder, "fit m.yaml --dry-run --run-dir kept").err, "holds another run"));
  CHECK(run_program(folder, "fit m.yaml --dry-run --resume=none").exit_code == 2);
  CHECK(run_program(folder, "fit m.yaml --dry-run --resume=kept").exit_code == 0);
  CHECK(contains(run_program(folder, "fit kept").err, "resume it with fit --resume kept"));
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

struct Padded : Fixture {
  Outcome with(const std::string& command, const std::string& words, const std::string& layers) {
    write_file(folder / "words.csv", words);
    write_file(folder / "padded.yaml", R"(data:
  global_batch_size: 2
  train: {format: csv, file: words.csv, features: [a, b, c], labels: y}
model:
  input_shape: [3]
  layers:
    - embedding: {input_dim: 4, output_dim: 2, mask_zero: true}
)" + layers + R"(
    - dense: {units: 1, activation: sigmoid}
loss: binary_crossentropy
optimizer: sgd
strategy: {devices: [cpu:0]}
)");
    return run_program(folder, command);
  }
};

TEST_CASE_FIXTURE(Padded, "a sequence of padding alone has no mean, which is told before training") {
  const std::string words = "a,b,c,y\n1,2,0,1\n0,0,0,0\n3,0,0,1\n0,0,0,1\n";
  for (const char* const command : {"config check padded.yaml", "fit padded.yaml"}) {
    CAPTURE(command);
    const Outcome outcome = with(command, words, "    - global_average_pooling1d");
    CHECK(outcome.exit_code == 1);
    CHECK(
        contains(outcome.err,
                 "words.csv:3: row 1 (counting from 0): padding (0) alone, of which "
                 "global_average_pooling1d has no mean; leave the example out, or give it a word of its own for empty "
                 "sequences"));
  }
  CHECK(with("fit padded.yaml --set data.on_bad_example=skip", words, "    - global_average_pooling1d").exit_code == 0);
  CHECK(with("fit padded.yaml --run-dir another", words, "    - lstm: {units: 2}").exit_code == 0);
}

TEST_CASE_FIXTURE(Padded, "data of padding alone are warned of") {
  const Outcome outcome =
      with("config check padded.yaml", "a,b,c,y\n0,0,0,1\n0,0,0,0\n0,0,0,1\n", "    - lstm: {units: 2}");
  CHECK(outcome.exit_code == 0);
  CHECK(contains(outcome.err,
                 "warning: padded.yaml:3:3: data.train: every number is 0, which mask_zero takes for padding, so there "
                 "is nothing to learn from; check how the words were numbered"));
  CHECK(!contains(with("config check padded.yaml", "a,b,c,y\n0,0,0,1\n0,0,2,0\n", "    - lstm: {units: 2}").err,
                  "every number is 0"));
}

}  // namespace
}  // namespace mirrortrain::testing
