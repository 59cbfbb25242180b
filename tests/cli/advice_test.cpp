// Everyday mistakes in a configuration or on the command line: what the program answers.
#include <doctest/doctest.h>

#include "cli/program.h"
#include "error_text.h"

namespace mirrortrain::testing {
namespace {

constexpr const char* kConfig = R"(data:
  global_batch_size: 4
  train: {format: synthetic, examples: 64, shape: [8, 8, 3], classes: 4}
  validation: {fraction: 0.25}
model:
  input_shape: [8, 8, 3]
  layers:
    - flatten
    - dense: {units: 8, activation: relu}
    - dense: {units: 4}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
metrics: [accuracy]
optimizer: {type: adam, learning_rate: 0.001}
training: {epochs: 1}
)";

constexpr const char* kSynthetic = "{format: synthetic, examples: 64, shape: [8, 8, 3], classes: 4}";

struct Fixture {
  TemporaryFolder folder;
  Fixture() { write_file(folder / "right.yaml", kConfig); }

  /// What `config check` says of the configuration with one text in place of another.
  Outcome check(const std::string& from, const std::string& to) {
    std::string text = kConfig;
    REQUIRE(text.find(from) != std::string::npos);
    write_file(folder / "m.yaml", text.replace(text.find(from), from.size(), to));
    return run_program(folder, "config check m.yaml");
  }
};

TEST_CASE_FIXTURE(Fixture, "names from Keras, PyTorch and everyday speech get the name that is meant, in one error") {
  struct Row {
    const char *from, *to, *answer;
  };
  const Row rows[] = {
      {"learning_rate: ", "lr: ", "m.yaml:13:25: optimizer.lr: unknown key; did you mean 'learning_rate'?"},
      {"global_batch_size", "batch_size",
       "m.yaml:2:3: data.batch_size: unknown key; did you mean 'global_batch_size'?"},
      {"global_batch_size", "bs", "did you mean 'global_batch_size'?"},
      {"epochs: 1", "num_epochs: 1", "did you mean 'epochs'?"},
      {"relu", "ReLU", "did you mean 'relu'?"},
      {"- flatten", "- Flatten", "did you mean 'flatten'?"},
      {"- dense: {units: 4}", "- Dense: {units: 4}", "did you mean 'dense'?"},
      {"- dense: {units: 4}", "- linear: {units: 4}", "did you mean 'dense'?"},
      {"- dense: {units: 4}", "- dense: {out_features: 4}", "did you mean 'units'?"},
      {"- dense: {units: 4}", "- {type: dense, units: 4}", "the layer's name is its key; write - dense: {units: 4}"},
      {"type: sparse_categorical_crossentropy", "type: SparseCategoricalCrossentropy",
       "did you mean 'sparse_categorical_crossentropy'?"},
      {"type: sparse_categorical_crossentropy", "type: cross_entropy",
       "did you mean 'sparse_categorical_crossentropy'?"},
      {"{type: sparse_categorical_crossentropy, from_logits: true}", "mse", "did you mean 'mean_squared_error'?"},
      {"type: adam", "type: Adam", "did you mean 'adam'?"},
      {"- dense: {units: 4}", "- dense: 4",
       "model.layers[2].dense: expected a mapping, found the number 4; write dense: {units: 4}"},
      {"- dense: {units: 8, activation: relu}", "- activation: relu",
       "model.layers[1].activation: expected a mapping, found the text 'relu'; write activation: {activation: relu}"},
      {"- flatten", "- depthwise_conv2d: {kernel_size: 3, kernel_initializer: zeros}\n    - flatten",
       "did you mean 'depthwise_initializer'?"},
      {"[accuracy]", "[acc]", "did you mean 'accuracy'?"},
      {"[accuracy]", "accuracy", "found the text 'accuracy'; write [accuracy]"},
      {"training: {epochs: 1}", "epochs: 1", "m.yaml:14:1: epochs: unknown key; did you mean 'training.epochs'?"},
      {"training: {epochs: 1}", "lr: 1", "did you mean 'optimizer.learning_rate'?"},
      {"training: {epochs: 1}", "training: {batch_size: 1}", "did you mean 'data.global_batch_size'?"},
      {"training: {epochs: 1}", "strategy: {devices: cpu:0}", "found the text 'cpu:0'; write [cpu:0]"},
      {"training: {epochs: 1}", "strategy: {devices: gpu:0}", "found the text 'gpu:0'; write [cuda:0]"},
      {"training: {epochs: 1}", "strategy: {devices: cpu}", "write [cpu:0]"},
      {"training: {epochs: 1}", "strategy: {devices: cuda}", "write [cuda:0]"},
      {"training: {epochs: 1}", "strategy: {devices: GPU}", "write [cuda:0]"},
      {"training: {epochs: 1}", "strategy: {devices: 2}", "write [cuda:0, cuda:1]"},
      {"training: {epochs: 1}", "strategy: {devices: [gpu:0]}", "did you mean 'cuda:0'?"},
      {"training: {epochs: 1}", "strategy: {devices: [cpu:0], replicas: 1,000}",
       "unknown key; a number has no commas: replicas: 1000"},
      {"- dense: {units: 4}", "- {name: dense, units: 4}", "the layer's name is its key; write - dense: {units: 4}"},
      {"- dense: {units: 4}", "- {class_name: Dense, config: {units: 4, dtype: float32}}", "write - dense: {units: 4}"},
      {"- dense: {units: 4}", "- {type: linear, out_features: 4}", "write - dense: {units: 4}"},
      {"- dense: {units: 4}", "- dense:\n        units: 1,000", "write 1000, without commas"},
      {"- flatten", "- bidirectional: {layer: lstm, units: 4}\n    - flatten",
       "unknown layer 'bidirectional'; write two layers that read the same input, the second with go_backwards: true"},
      {"- flatten", "- keras.layers.Bidirectional\n    - flatten", "and a concatenate of both"},
      {"- dense: {units: 8, activation: relu}",
       "- reshape: {target_shape: [64, 3]}\n    - lstm: {units: 4, bidirectional: true}",
       "bidirectional: unknown key; write two layers that read the same input"},
      {"- flatten", "- Masking: {mask_value: 0.0}\n    - flatten",
       "unknown layer 'Masking'; padding is what embedding: {mask_zero: true} finds"},
      {"- flatten", "- masking\n    - flatten", "sequences of other numbers carry no mask"},
      {"- flatten", "- TimeDistributed: {layer: dense}\n    - flatten",
       "unknown layer 'TimeDistributed'; list the layer alone: dense"},
      {"- flatten", "- time_distributed\n    - flatten", "treat each step of a sequence by itself"},
      {"- flatten", "- repeat_vector: {n: 3}\n    - flatten",
       "unknown layer 'repeat_vector'; for N steps of FEATURES numbers write reshape"},
      {"- flatten", "- RepeatVector(3)\n    - flatten", "upsampling2d: {size: [N, 1]}"},
      {"- flatten", "- nn.RNN\n    - flatten", "unknown layer 'nn.RNN'; take gru or lstm"},
      {"type: adam", "type: amsgrad", "unknown optimizer 'amsgrad'; write {type: adam, amsgrad: true}"},
      {"type: adam", "type: momentum", "write {type: sgd, momentum: 0.9}"},
      {"type: adam", "type: torch.optim.Adam", "did you mean 'adam'?"},
      {"learning_rate: 0.001", "clipnorm: 1.0", "gradients.clip_norm clips the norm of all gradients together"},
      {"learning_rate: 0.001", "global_clipnorm: 1.0", "did you mean 'gradients.clip_norm'?"},
      {"learning_rate: 0.001", "learning_rate: 1/100", "write 0.01"},
      {"learning_rate: 0.001", "learning_rate: \"0,01\"", "write 0.01, with a decimal point"},
      {"global_batch_size", "global_batch", "did you mean 'global_batch_size'?"},
      {"epochs: 1", "num_train_epochs: 1", "did you mean 'epochs'?"},
      {"training: {epochs: 1}", "num_workers: 2", "did you mean 'data.threads'?"},
      {"training: {epochs: 1}", "output_dir: out", "a run's folder is runs/NAME"},
      {"training: {epochs: 1}", "early_stopping: {patience: 3}", "it belongs in the list callbacks: - early_stopping"},
      {"training: {epochs: 1}", "training: {patience: 3}",
       "it belongs to an item of callbacks: - early_stopping: {patience"},
      {"training: {epochs: 1}", "mixed_precision: true", "did you mean 'training.precision'?"},
      {"training: {epochs: 1}", "fp16: true", "did you mean 'training.precision'?"},
      {"training: {epochs: 1}", "augmentation: true", "data.preprocessing"},
      {"training: {epochs: 1}", "normalize: true", "data.preprocessing"},
      {"{type: sparse_categorical_crossentropy, from_logits: true}", "l1", "did you mean 'mean_absolute_error'?"},
      {"{type: sparse_categorical_crossentropy, from_logits: true}", "smooth_l1", "did you mean 'huber'?"},
      {"{type: sparse_categorical_crossentropy, from_logits: true}", "rmse", "take mean_squared_error"},
      {"[accuracy]", "[iou]", "did you mean 'mean_iou'?"},
      {"[accuracy]", "[roc_auc]", "did you mean 'auc'?"},
      {"[accuracy]", "[val_accuracy]", "did you mean 'accuracy'?"},
      {"[accuracy]", "[top5]", "did you mean 'top_k_accuracy'?"},
      {"format: synthetic", "type: synthetic", "data.train.type: unknown key; did you mean 'format'?"},
      {"{type: adam, learning_rate: 0.001}", "{type: rmsprop, alpha: 0.9}", "did you mean 'rho'?"},
      {"{type: adam, learning_rate: 0.001}", "{type: adam, betas: [0.9, 0.999]}", "write beta_1: 0.9, beta_2: 0.999"},
      {"{type: adam, learning_rate: 0.001}", "{name: adam}", "optimizer.name: unknown key; did you mean 'type'?"},
      {"- dense: {units: 8, activation: relu}", "- dense: {units: 8}\n      batch_normalization: {}",
       "begin an item of its own: - batch_normalization"},
      {"- dense: {units: 8, activation: relu}", "- relu",
       "unknown layer 'relu'; write - activation: {activation: relu}"},
      {"- dense: {units: 8, activation: relu}", "- leaky_relu: {negative_slope: 0.1}",
       "write - activation: {activation: leaky_relu}"},
      {"- dense: {units: 8, activation: relu}", "- swish", "write - activation: {activation: silu}"},
      {"- dense: {units: 8, activation: relu}", "- identity", "write - activation: {activation: linear}"},
      {"- dense: {units: 8, activation: relu}", "- Hardswish", "write - activation: {activation: hard_silu}"},
      {"- flatten", "- upsampling2d: {mode: bilinear}\n    - flatten", "did you mean 'interpolation'?"},
      {"- flatten", "- concat\n    - flatten", "did you mean 'concatenate'?"},
      {"- flatten", "- ZeroPad2d: {padding: 1}\n    - flatten", "did you mean 'zero_padding2d'?"},
      {"- dense: {units: 4}", "- dense(4)", "write - dense: {units: 4}"},
      {"- dense: {units: 4}", "- Dropout(0.5)\n    - dense: {units: 4}", "write - dropout: {rate: 0.5}"},
      {"- flatten", "- max_pooling2d: 2\n    - flatten", "write max_pooling2d: {pool_size: 2}"},
      {"- flatten", "- reshape: [192]", "write reshape: {target_shape: [192]}"},
      {"- dense: {units: 4}", "- dense: {units: 4, kernel_regularizer: l2}", "write kernel_regularizer: {l2: 0.01}"},
      {"- flatten", "- conv2d: {filters: 2, kernel_size: 3, padding: 1}\n    - flatten",
       "found the number 1; write same"},
      {"- flatten", "- group_normalization: {num_groups: 1}\n    - flatten", "did you mean 'groups'?"},
      {"- flatten", "- reshape: {shape: [192]}", "did you mean 'target_shape'?"},
      {"input_shape: [8, 8, 3]", "input_shape: [null, 8, 8, 3]",
       "found null; it is the shape of one example: leave the axis of the batch out"},
      {"input_shape: [8, 8, 3]", "input_shape: [-1, 8, 8, 3]", "leave the axis of the batch out"},
      {"input_shape: [8, 8, 3]", "input_shape: [None, 8, 8, 3]", "leave the axis of the batch out"},
      {"- dense: {units: 8, activation: relu}", "- lstm: {units: 4}", "found the shape [192] of 'flatten'"},
      {"- dense: {units: 8, activation: relu}",
       "- reshape: {target_shape: [64, 3]}\n    - lstm: {units: 4}\n    - lstm: {units: 4}",
       "give 'lstm' return_sequences: true"},
      {"training: {epochs: 1}", "drop_last: true", "did you mean 'data.drop_remainder'?"},
      {"training: {epochs: 1}", "steps_per_epoch: 3", "training.steps ends the run"},
      {"training: {epochs: 1}", "manual_seed: 3", "did you mean 'seed'?"},
      {"training: {epochs: 1}", "num_gpus: 2", "did you mean 'strategy.devices'?"},
      {"training: {epochs: 1}", "lr_scheduler: cosine", "learning_rate: {schedule: cosine_decay"},
      {"training: {epochs: 1}", "val_split: 0.1", "did you mean 'data.validation'?"},
      {"training: {epochs: 1}", "accumulation_steps: 2", "did you mean 'gradients.accumulate_steps'?"},
      {"training: {epochs: 1}", "max_norm: 1.0", "did you mean 'gradients.clip_norm'?"},
      {"training: {epochs: 1}", "run_dir: a", "a run's folder is runs/NAME"},
      {"training: {epochs: 1}", "num_classes: 4", "write units in the last layer"},
      {"training: {epochs: 1}", "callbacks: [ModelCheckpoint]", "write checkpoint: {every_steps: 500}"},
      {"training: {epochs: 1}", "callbacks: [TensorBoard]", "logging.tensorboard: false leaves them out"},
      {"training: {epochs: 1}", "callbacks: [terminate_on_nan]", "a run stops at NaN by itself"},
      {"training: {epochs: 1}", "strategy: {type: MirroredStrategy}", "did you mean 'mirrored'?"},
      {"training: {epochs: 1}", "strategy: mirrored", "write strategy: {type: mirrored}"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.to);
    const Outcome outcome = check(row.from, row.to);
    CHECK(outcome.exit_code == 2);
    CHECK_MESSAGE(contains(outcome.err, row.answer), outcome.err);
    CHECK(contains(outcome.err, "\n1 error\n"));
  }
}

TEST_CASE_FIXTURE(Fixture, "slips in writing YAML are named where they are") {
  struct Row {
    const char *from, *to, *answer;
  };
  const Row rows[] = {
      {"training: {epochs: 1}", "training:\n\tepochs: 1", "m.yaml:15:1: not valid YAML: this is a tab"},
      {"training: {epochs: 1}", "training:\n  epochs: 1\n\tsteps: 1", "m.yaml:16:1: not valid YAML: this is a tab"},
      {"training: {epochs: 1}", "seed:1",
       "m.yaml:14:5: not valid YAML: a space is missing after the colon; write 'seed: 1'"},
      {"metrics:", "seed:1\nmetrics:", "m.yaml:12:5: not valid YAML: a space is missing"},
      {"{units: 4}", "{units:4}", "write 'units: 4', with a space after the colon"},
      {"training: {epochs: 1}", "training:{epochs: 1}", "write 'training: {epochs: 1}', with a space after the colon"},
      {"metrics:", "seed=1\nmetrics:",
       "m.yaml:12:5: not valid YAML: a key is followed by a colon, not by '='; write 'seed: 1'"},
      {"training: {epochs: 1}", "training:\n  epochs=3", "found the text 'epochs=3'; write 'epochs: 3', with a colon"},
      {"[accuracy]", "[accuracy", "m.yaml:12:10: not valid YAML: the [ that opens here is not closed; add a ]"},
      {"learning_rate: 0.001}", "learning_rate: 0.001",
       "m.yaml:13:12: not valid YAML: the { that opens here is not closed"},
      {"type: adam", "type: \u201cadam\u201d",
       "m.yaml:13:19: optimizer.type: curly quotes would belong to the text; write \"adam\""},
      {"epochs: 1", "epochs: 1\u00a0", "write 1, without the characters around it"},
      {"epochs: 1", "\u00a0epochs: 1", "did you mean 'epochs'?"},
      {"training: {epochs: 1}", "training: {epochs: 1}\nstrategy: {type: mirrored, devices: cpu:0, cpu:1}",
       "m.yaml:15:37: strategy.devices: a list has brackets: devices: [cpu:0, cpu:1]\n1 error"},
      {"training: {epochs: 1}", "name: \"abc\ntraining: {epochs: 1}",
       "m.yaml:14:7: not valid YAML: the quoted text that opens here is not closed"},
      {"data:\n", "name: 'abc\ndata:\n", "m.yaml:1:7: not valid YAML: the quoted text that opens here is not closed"},
      {"0.001", "0,001", "a number has a decimal point, not a comma: learning_rate: 0.001"},
      {"{type: adam, learning_rate: 0.001}", "\n  type: adam\n  learning_rate: 0,001",
       "write 0.001, with a decimal point"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.to);
    const Outcome outcome = check(row.from, row.to);
    CHECK(outcome.exit_code == 2);
    CHECK_MESSAGE(contains(outcome.err, row.answer), outcome.err);
  }
}

TEST_CASE_FIXTURE(Fixture, "what does not fit together gets the remedy that helps") {
  CHECK(contains(check("    - flatten\n", "").err, "add a flatten or global_average_pooling2d layer"));
  CHECK(contains(check("    - flatten\n",
                       "    - reshape: {target_shape: [64, 3]}\n    - lstm: {units: 4, "
                       "return_sequences: true}\n")
                     .err,
                 "after lstm or gru, return_sequences: false does it too"));
  CHECK(contains(check("shape: [8, 8, 3], classes", "shape: [8, 8], classes").err, "write input_shape: [8, 8, 1]"));
  const Outcome channels = check("shape: [8, 8, 3], classes", "shape: [3, 8, 8], classes");
  CHECK_MESSAGE(contains(channels.err, "channels first"), channels.err);
  CHECK(contains(check("input_shape: [8, 8, 3]\n  layers:\n    - flatten",
                       "input_shape: [3, 8, 8]\n  layers:\n    - conv2d: {filters: 2, kernel_size: 3}\n    - flatten")
                     .err,
                 "images are stored as [height, width, channels], here [8, 8, 3]"));
  const Outcome one_hot = check("shape: [8, 8, 3], classes: 4", "shape: [8, 8, 3], label_shape: [4]");
  CHECK_MESSAGE(contains(one_hot.err, "the labels are one-hot: take categorical_crossentropy"), one_hot.err);
  const Outcome of_steps = check(
      "shape: [8, 8, 3], classes: 4}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n"
      "    - flatten",
      "shape: [8, 3], label_shape: [8, 4]}\nmodel:\n  input_shape: [8, 3]\n  layers:");
  CHECK_MESSAGE(contains(of_steps.err,
                         "one label has the shape [8, 4], but the model's output and loss take [8]; the "
                         "labels are one-hot: take categorical_crossentropy"),
                of_steps.err);
  CHECK(contains(
      check("    - flatten\n", "    - flatten\n    - embedding: {input_dim: 9, output_dim: 2}\n    - flatten\n").err,
      "m.yaml:3:51: data.train.shape: synthetic features are numbers between 0 and 1"));
  CHECK(run_script(folder,
                   "printf '\\223NUMPY\\001\\000\\166\\000%-117s\\n' \"{'descr': '|u1', 'fortran_order': False, "
                   "'shape': (2,), }\" > one.npy; printf 'ab' >> one.npy")
            .exit_code == 0);
  const Outcome swapped = check(
      "train: {format: synthetic, examples: 64, shape: [8, 8, 3], classes: 4}\n  validation: "
      "{fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]",
      "train: {format: npy, features: one.npy, labels: one.npy}\nmodel:\n  input_shape: [3]");
  CHECK_MESSAGE(contains(swapped.err, "are features and labels swapped?"), swapped.err);
  const Outcome units = check("- dense: {units: 4}", "- dense: {units: 1}");
  CHECK(units.exit_code == 2);
  CHECK_MESSAGE(contains(units.err, "nothing is trained"), units.err);
}

TEST_CASE_FIXTURE(Fixture, "options that are none are told with what is meant, and the command's usage") {
  struct Row {
    const char *arguments, *answer;
  };
  const Row rows[] = {
      {"fit right.yaml --epochs 3", "there is no option --epochs; did you mean --set training.epochs=3?"},
      {"fit right.yaml --epochs=3", "did you mean --set training.epochs=3?"},
      {"fit right.yaml --lr 0.1", "did you mean --set optimizer.learning_rate=0.1?"},
      {"fit right.yaml --batch-size 8", "did you mean --set data.global_batch_size=8?"},
      {"fit right.yaml --seed 1", "did you mean --set seed=1?"},
      {"fit right.yaml --gpus 2", "did you mean --set strategy.devices=[cuda:0,cuda:1]?"},
      {"fit right.yaml --device cpu", "did you mean --set strategy.devices=[cpu:0]?"},
      {"fit right.yaml --device cpu:0", "did you mean --set strategy.devices=cpu:0?"},
      {"-q", "there is no option -q here; it follows the command: mirrortrain COMMAND -q"},
      {"--foo", "there is no option --foo before the command"},
      {"fit", "CONFIG is required\nUsage: mirrortrain fit"},
      {"fit right.yaml --dryrun", "there is no option --dryrun; did you mean '--dry-run'?"},
      {"fit right.yaml other.yaml", "unexpected argument 'other.yaml'"},
      {"fit right.yaml --set training.epochs=", "--set training.epochs: a value is missing after '='"},
      {"fit right.yaml --set epochs=3", "--set epochs: unknown key; did you mean 'training.epochs'?"},
      {"eval", "RUN_OR_CONFIG is required"},
      {"config foo", "there is no command 'foo'; the commands are check, show, schema, reference"},
      {"config shw", "did you mean 'show'?"},
      {"evaluate", "there is no command 'evaluate'"},
      {"bench-allreduce --set seed=1", "--from"},
      {"train right.yaml", "there is no command 'train'"},
      {"evaluate right", "did you mean 'eval'?"},
      {"help fot", "mirrortrain help: there is no command 'fot'"},
      {"-q fit", "there is no option -q here; it follows the command: mirrortrain COMMAND -q"},
      {"fit table.csv", "these are data, not a configuration; `mirrortrain init table.csv` writes one"},
      {"fit right.yaml --set optimizer=null", "--set optimizer: a value is required here, found null"},
      {"fit right.yaml --set 'data.test={format: csv, file: table.csv, labels: y}' --set data.test.decimal=\\;",
       "expected `.` or `,`"},
  };
  write_file(folder / "table.csv", "a,y\n1,0\n");
  for (const Row& row : rows) {
    CAPTURE(row.arguments);
    const Outcome outcome = run_program(folder, row.arguments);
    CHECK(outcome.exit_code == 2);
    CHECK_MESSAGE(contains(outcome.err, row.answer), outcome.err);
    CHECK(outcome.out.empty());
  }
  CHECK(contains(run_program(folder, "fit right.yaml --epochs 3").err, "Usage: mirrortrain fit [OPTIONS] [CONFIG]"));
  CHECK_FALSE(contains(run_program(folder, "fit right.yaml --checkpoint x").err, "--set checkpoint=VALUE"));
  CHECK_FALSE(contains(run_program(folder, "fit right.yaml -e 3").err, "did you mean '-h'?"));
  CHECK(contains(run_program(folder, "").err, "\nCommands:\n  fit "));
  CHECK(contains(run_program(folder, "config").err, "Usage: mirrortrain config"));
  CHECK(contains(run_program(folder, "fit -h").out, "Usage: mirrortrain fit [OPTIONS] [CONFIG]"));
}

TEST_CASE_FIXTURE(Fixture, "help prints what -h does") {
  CHECK(run_program(folder, "help").out == run_program(folder, "-h").out);
  CHECK(run_program(folder, "help fit").out == run_program(folder, "fit -h").out);
  CHECK(run_program(folder, "help config check").out == run_program(folder, "config check -h").out);
}

TEST_CASE_FIXTURE(Fixture, "lists on the command line need no brackets") {
  CHECK(run_program(folder, "config check right.yaml --set strategy.devices=cpu:0,cpu:1").exit_code == 0);
  CHECK(run_program(folder, "config check right.yaml --set strategy.devices=cpu:0").exit_code == 0);
  CHECK(run_program(folder, "config check right.yaml --set metrics=accuracy").exit_code == 0);
  CHECK(run_program(folder, "config check right.yaml --set model.input_shape=8,8,3").exit_code == 0);
  const Outcome bench =
      run_program(folder, "bench-allreduce --devices cpu:0,cpu:1 --algorithms ring -b 8 -e 8 --json -");
  CHECK(bench.exit_code == 0);
  CHECK(nlohmann::json::parse(bench.out)["results"][0]["algorithm"] == "ring");
  const Outcome from = run_program(
      folder, "bench-allreduce --from right.yaml --set strategy.devices=cpu:0,cpu:1,cpu:2 --algorithms ring");
  CHECK(contains(from.out, "over 3 ranks"));
}

TEST_CASE_FIXTURE(Fixture, "config check looks at the data files: every one that is missing, at its key") {
  const Outcome outcome = check("{format: synthetic, examples: 64, shape: [8, 8, 3], classes: 4}",
                                "{format: npy, features: a.npy, labels: none/b.npy}");
  CHECK(outcome.exit_code == 1);
  CHECK_MESSAGE(contains(outcome.err, "m.yaml:3:34: data.train.features: "), outcome.err);
  CHECK(contains(outcome.err, "a.npy does not exist"));
  CHECK(contains(outcome.err, "m.yaml:3:49: data.train.labels: "));
  CHECK(contains(outcome.err, "there is no folder none in "));
  CHECK(contains(outcome.err, "2 errors"));
  CHECK(run_program(folder, "config check m.yaml --no-data").exit_code == 0);

  write_file(folder / "a.csv", "a,b,label\n1,2,0\n3,4,9\n");
  const Outcome labels = check(
      "{format: synthetic, examples: 64, shape: [8, 8, 3], classes: 4}\n  validation: {fraction: 0.25}\nmodel:\n  "
      "input_shape: [8, 8, 3]",
      "{format: csv, file: a.csv, labels: label}\nmodel:\n  input_shape: [2]");
  CHECK(labels.exit_code == 1);
  CHECK_MESSAGE(contains(labels.err, "m.yaml:3:3: data.train: "), labels.err);
  CHECK(contains(labels.err, "label 9 is not one of the 4 classes"));
}

TEST_CASE_FIXTURE(Fixture, "~ in a path is the home folder") {
  write_file(folder / "a.yaml", std::string(kConfig) + "checkpoint: {keep: 3}\n");
  const Outcome outcome = run_script(folder,
                                     "HOME=$PWD \"$MIRRORTRAIN\" config show a.yaml --set "
                                     "model.initial_weights='~/w.safetensors'");
  CHECK(contains(outcome.out, fmt::format("initial_weights: {}", (folder / "w.safetensors").string())));
}

TEST_CASE_FIXTURE(Fixture, "a split that the configuration does not have is refused with those that it has") {
  REQUIRE(run_program(folder, "fit right.yaml -q").exit_code == 0);
  for (const char* const command : {"eval", "predict"}) {
    CAPTURE(command);
    const Outcome outcome = run_program(folder, fmt::format("{} right", command));
    CHECK(outcome.exit_code == 2);
    CHECK_MESSAGE(
        contains(outcome.err, "the configuration has no data.test; choose --split train or --split validation"),
        outcome.err);
  }
  CHECK(run_program(folder, "eval right --split validation").exit_code == 0);
}

TEST_CASE_FIXTURE(Fixture, "weights of half precision are refused with the type that is taken") {
  const std::string header = R"({"dense/kernel":{"dtype":"I16","shape":[1],"data_offsets":[0,2]}})";
  std::string file = std::string(8, '\0') + header + std::string(2, '\0');
  file[0] = static_cast<char>(header.size());
  write_file(folder / "half.safetensors", file);
  const Outcome outcome = run_program(folder, "fit right.yaml --set model.initial_weights=half.safetensors");
  CHECK(outcome.exit_code == 1);
  CHECK_MESSAGE(contains(outcome.err, "has elements of type \"I16\"; convert weights to F32"), outcome.err);
}

TEST_CASE_FIXTURE(Fixture,
                  "the columns of a table are matched by name, and a missing one is told with those that are there") {
  std::string table = "length,width,kind\n", swapped = "width,length\n", renamed = "span,width\n";
  for (int i = 0; i < 40; ++i) {
    table += fmt::format("{},{},{}\n", i % 7, 0.5 * (i % 3), i % 2);
    swapped += fmt::format("{},{}\n", 0.5 * (i % 3), i % 7);
    renamed += fmt::format("{},{}\n", i % 7, 0.5 * (i % 3));
  }
  write_file(folder / "table.csv", table);
  write_file(folder / "swapped.csv", swapped);
  write_file(folder / "renamed.csv", renamed);
  const Outcome missing = check(kSynthetic, "{format: csv, file: table.csv, labels: species}");
  CHECK_MESSAGE(contains(missing.err,
                         "there is no column 'species' in the header for 'labels'; the columns are length, "
                         "width, kind"),
                missing.err);
  REQUIRE(contains(check(kSynthetic, "{format: csv, file: table.csv, labels: kind}").err, "input_shape"));
  REQUIRE(run_program(folder, "fit m.yaml -q --set model.input_shape=2 --set name=t").exit_code == 0);
  const std::string expected = run_program(folder, "predict t --data table.csv --probabilities").out;
  CHECK(expected.size() > 400);
  CHECK(run_program(folder, "predict t --data swapped.csv --probabilities").out == expected);
  const Outcome other = run_program(folder, "predict t --data renamed.csv");
  CHECK(other.exit_code == 1);
  CHECK_MESSAGE(contains(other.err, "there is no column 'length' in the header"), other.err);
}

}  // namespace
}  // namespace mirrortrain::testing
