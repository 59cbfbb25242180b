// Everyday mistakes in a configuration or on the command line: what the program answers.
#include <doctest/doctest.h>

#include "cli/program.h"
#include "cli/small_classifier.h"
#include "error_text.h"

namespace mirrortrain::testing::advice_test {
namespace {

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

TEST_CASE_FIXTURE(Fixture, "what does not fit together gets the remedy that helps") {
  const Outcome betas = check("{type: adam, learning_rate: 0.001}", "{type: AdamW, betas: [0.9, 0.999]}");
  CHECK_MESSAGE(contains(betas.err, "optimizer.betas: unknown key; write beta_1: 0.9, beta_2: 0.999"), betas.err);
  const Outcome part = check("- dense: {units: 4}", "- activation: {activation: leaky_relu, alpha: 0.1}");
  CHECK_MESSAGE(contains(part.err, "alpha: unknown key; known: activation"), part.err);
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
  CHECK_MESSAGE(
      contains(one_hot.err, "the labels are one-hot, and the loss takes class numbers: take categorical_crossentropy"),
      one_hot.err);
  const Outcome of_steps = check(
      "shape: [8, 8, 3], classes: 4}\n  validation: {fraction: 0.25}\nmodel:\n  input_shape: [8, 8, 3]\n  layers:\n"
      "    - flatten",
      "shape: [8, 3], label_shape: [8, 4]}\nmodel:\n  input_shape: [8, 3]\n  layers:");
  CHECK_MESSAGE(contains(of_steps.err,
                         "one label has the shape [8, 4], but the model's output and loss take [8]; the "
                         "labels are one-hot, and the loss takes class numbers: take categorical_crossentropy"),
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
      {"fit right.yaml --val-split 0.1", "did you mean --set data.validation.fraction=0.1?"},
      {"fit right.yaml --set strategy.devices=null",
       "--set strategy.devices: expected `all` or a list such as [cpu:0, cpu:1] or [cuda:0], found null; write all"},
      {"fit right.yaml epochs=3", "unexpected argument 'epochs=3'; did you mean --set training.epochs=3?"},
      {"fit right.yaml training.epochs=3", "did you mean --set training.epochs=3?"},
      {"fit right.yaml --set training.epochs 3", "--set takes key.path=value: --set training.epochs=3"},
      {"fit right.yaml --set training.epochs: 3", "--set takes key.path=value: --set training.epochs=3"},
      {"fit --config right.yaml", "the configuration is given without an option: mirrortrain fit FILE"},
      {"fit right.yaml --output out", "there is no option --output; did you mean --run-dir?"},
      {"fit right.yaml --weights w.safetensors", "did you mean --set model.initial_weights=w.safetensors?"},
      {"fit right.yaml --workers 2", "started by launch: mirrortrain launch --workers 2 -- fit CONFIG"},
      {"fit right", "right: cannot open the configuration: No such file or directory; did you mean right.yaml?"},
      {"fit right.yml", "did you mean right.yaml?"},
      {"fit rigth.yaml", "did you mean right.yaml?"},
      {"predict right --input a.csv", "there is no option --input; did you mean --data?"},
      {"predict right --out a.csv", "did you mean --output?"},
      {"eval right --weights a", "did you mean --checkpoint?"},
      {"eval right --split val",
       "--split: expected test, validation or train, found 'val'; did you mean 'validation'?"},
      {"init table.csv --target y", "did you mean --label?"},
      {"launch -n 2 fit right.yaml", "did you mean --workers?"},
      {"check right.yaml", "did you mean 'config check'?"},
      {"show right.yaml", "did you mean 'config show'?"},
      {"fit right.yaml --seed 1", "did you mean --set seed=1?"},
      {"fit right.yaml --gpus 2", "did you mean --set strategy.devices=[cuda:0,cuda:1]?"},
      {"fit right.yaml --device cpu", "did you mean --set strategy.devices=[cpu:0]?"},
      {"fit right.yaml --device cpu:0", "did you mean --set strategy.devices=cpu:0?"},
      {"--run-dir a", "there is no option --run-dir here; it follows the command: mirrortrain COMMAND --run-dir"},
      {"--foo", "there is no option --foo before the command"},
      {"fit", "CONFIG is required\nUsage: mirrortrain fit"},
      {"fit right.yaml --dryrun", "there is no option --dryrun; did you mean '--dry-run'?"},
      {"fit right.yaml other.yaml", "unexpected argument 'other.yaml'"},
      {"fit right.yaml --set training.epochs=", "--set training.epochs: a value is missing after '='"},
      {"fit right.yaml --set epochs=3", "--set epochs: unknown key; did you mean 'training.epochs'?"},
      {"eval", "RUN_OR_CONFIG is required"},
      {"fit right.yaml --sweep seed=1,2 --side-by-side x",
       "--side-by-side: expected a whole number from 1 to 1024, found 'x'\nUsage: mirrortrain fit"},
      {"launch --workers 0 -- fit right.yaml", "--workers: expected a whole number from 1 to 1024, found '0'"},
      {"launch --grace nan -- fit right.yaml", "--grace: expected a number from 0 to 86400, found 'nan'"},
      {"fit right.yaml --color alwys",
       "--color: expected auto or always or never, found 'alwys'; did you mean 'always'?"},
      {"--colour always fit right.yaml", "there is no option --colour before the command; did you mean '--color'?"},
      {"fit right.yaml -q -v", "exclude each other; leave one of them out"},
      {"fit right.yaml --by-time", "--by-time goes with --profile; add it, or leave --by-time out"},
      {"doctor --json", "--json: expected a value behind it, found none"},
      {"config foo", "there is no command 'foo'; the commands are check, show, schema, reference"},
      {"config shw", "did you mean 'show'?"},
      {"version", "did you mean --version?"},
      {"evaluate", "there is no command 'evaluate'"},
      {"bench-allreduce --set seed=1", "--from"},
      {"train right.yaml", "there is no command 'train'"},
      {"evaluate right", "did you mean 'eval'?"},
      {"help fot", "mirrortrain help: there is no command 'fot'"},
      {"-q fit", "mirrortrain fit: CONFIG is required"},
      {"--run-dir a fit", "there is no option --run-dir here; it follows the command: mirrortrain COMMAND --run-dir"},
      {"fit table.csv", "these are data, not a configuration; `mirrortrain init table.csv` writes one"},
      {"fit right.yaml --set optimizer=null", "--set optimizer: a value is required here, found null"},
      {"fit right.yaml --set 'loss={a: mse, b: mae}'", "loss.a: no output of the model is named 'a'; known: "},
      {"fit right.yaml --set 'loss={out: mse}'", "loss.out: no output of the model is named 'out'"},
      {"fit right.yaml --set 'optimizer={dense: adam, head: sgd}'", "write one alone, as optimizer: adam"},
      {"init -", "-: expected a file, as its name says the format"},
      {"init /dev/stdin", "save what comes through the pipe as a .csv file first"},
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
  CHECK(parsed(bench.out)["results"][0]["algorithm"] == "ring");
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
}  // namespace mirrortrain::testing::advice_test
