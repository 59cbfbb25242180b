// Data that can be trained on but are hardly meant, or are wrong: what fit and config check say.
#include <doctest/doctest.h>

#include <filesystem>

#include "cli/program.h"
#include "cli/table_of_flowers.h"
#include "error_text.h"

namespace mirrortrain::testing::warnings_test {
namespace {

using Fixture = TableOfFlowers;

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

TEST_CASE_FIXTURE(Fixture, "counts and one-hot labels are no class numbers") {
  CHECK_FALSE(contains(fit("{units: 1, activation: exponential}", "poisson").err, "class numbers"));
  const Outcome one_hot =
      fit("{units: 3}", "mean_squared_error", "", "--set 'data.preprocessing=[{one_hot: {depth: 3}}]'");
  CHECK(one_hot.exit_code == 0);
  CHECK_MESSAGE(!contains(one_hot.err, "class numbers"), one_hot.err);
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
                  "fit reports errors of the data at the split, as config check does, and of moved files the --set") {
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

TEST_CASE_FIXTURE(Fixture, "steps that take pictures are reported at their line where the data are a table") {
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

TEST_CASE_FIXTURE(Padded, "a sequence of padding alone has no mean, which is reported before training") {
  const std::string words = "a,b,c,y\n1,2,0,1\n0,0,0,0\n3,0,0,1\n0,0,0,1\n";
  for (const char* const command : {"config check padded.yaml", "fit padded.yaml"}) {
    CAPTURE(command);
    const Outcome outcome = with(command, words, "    - global_average_pooling1d");
    CHECK(outcome.exit_code == 1);
    for (const char* part : {"words.csv:3: row 1 (counting from 0): padding (0) alone", "global_average_pooling1d",
                             "remove the example", "encode empty sequences"}) {
      CHECK_MESSAGE(contains(outcome.err, part), outcome.err);
    }
  }
  const std::string wrong_later = "a,b,c,y\n0,0,0,0\n1,2,0,1\n3,0,0,1\n9,0,0,0\n";
  const std::string wrong_first = "a,b,c,y\n9,0,0,0\n1,2,0,1\n3,0,0,1\n0,0,0,0\n";
  for (const std::string& both : {wrong_later, wrong_first}) {
    const Outcome outcome =
        with("fit padded.yaml --set data.on_bad_example=skip", both, "    - global_average_pooling1d");
    CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
    CHECK_MESSAGE(contains(outcome.err, "2 of 4 examples in"), outcome.err);
    std::filesystem::remove_all(folder / "runs");
  }
  CHECK(with("fit padded.yaml --set data.on_bad_example=skip", words, "    - global_average_pooling1d").exit_code == 0);
  CHECK(with("fit padded.yaml --run-dir another", words, "    - lstm: {units: 2}").exit_code == 0);
}

TEST_CASE_FIXTURE(Padded, "data of padding alone are warned of") {
  const Outcome outcome =
      with("config check padded.yaml", "a,b,c,y\n0,0,0,1\n0,0,0,0\n0,0,0,1\n", "    - lstm: {units: 2}");
  CHECK(outcome.exit_code == 0);
  for (const char* part :
       {"warning: padded.yaml:3:3: data.train: every number is 0", "mask_zero", "check how the words were numbered"})
    CHECK_MESSAGE(contains(outcome.err, part), outcome.err);
  CHECK(!contains(with("config check padded.yaml", "a,b,c,y\n0,0,0,1\n0,0,2,0\n", "    - lstm: {units: 2}").err,
                  "every number is 0"));
}

/// Two classes, one of them rare.
struct RareClass {
  TemporaryFolder folder;
  RareClass() {
    std::string rows = "a,b,kind\n";
    for (int i = 0; i < 100; ++i) rows += fmt::format("{},{},{}\n", i % 7, i % 5, i % 20 == 0 ? "rare" : "usual");
    write_file(folder / "t.csv", rows);
    write_file(folder / "t.yaml", R"(data:
  global_batch_size: 20
  train: {format: csv, file: t.csv, labels: kind}
  validation: {fraction: 0.2, shuffle: true}
model: {input_shape: [2], layers: [dense: {units: 2}]}
loss: {type: sparse_categorical_crossentropy, from_logits: true, class_weight: balanced}
optimizer: sgd
)");
  }
};

TEST_CASE_FIXTURE(RareClass, "classes are counted per split, and those that are rare or absent in one warned of") {
  for (const std::string seed : {"0", "1", "2"}) {
    const Outcome drawn = run_program(folder, "fit t.yaml --dry-run --set seed=" + seed);
    CHECK_MESSAGE(contains(drawn.out, "classes: train rare 4, usual 76; validation rare 1, usual 19"), drawn.out);
    CHECK_MESSAGE(contains(drawn.out, "class_weight: balanced: rare: 10, usual: 0.5263"), drawn.out);
    CHECK_MESSAGE(contains(drawn.err,
                           "t.yaml:4:3: data.validation: validation has fewer than 5 examples of the class "
                           "rare (1), so that its figures say little of it; take a larger fraction"),
                  drawn.err);
  }
  write_file(folder / "test.csv", "a,b,kind\n" + std::string("1,2,usual\n") + "3,1,third\n");
  std::string rows = "a,b,kind\n";
  for (int i = 0; i < 30; ++i) rows += fmt::format("{},{},{}\n", i % 7, i % 5, i % 3);
  write_file(folder / "train.csv", rows);
  std::string two = "a,b,kind\n";
  for (int i = 0; i < 30; ++i) two += fmt::format("{},{},{}\n", i % 7, i % 5, i % 2);
  write_file(folder / "two.csv", two);
  const Outcome lacks = run_program(folder,
                                    "config check t.yaml --set data.train.file=train.csv --set 'data.test={format: "
                                    "csv, file: two.csv, labels: kind}' --set model.layers[0].dense.units=3");
  CHECK(lacks.exit_code == 0);
  CHECK_MESSAGE(contains(lacks.err, "data.test: test has no example of the class 2, which the training data have"),
                lacks.err);
  const Outcome last = run_program(folder, "fit t.yaml --dry-run --set data.validation.shuffle=false");
  CHECK_MESSAGE(contains(last.out, "classes: train rare 4, usual 76; validation rare 1, usual 19"), last.out);
}

TEST_CASE("labels that are pictures are moved with them, or refused") {
  const TemporaryFolder folder;
  // The labels are the pictures' own pixels, so a model of one pixel's copy has no error unless one alone is moved.
  std::string pictures;
  for (int i = 0; i < 6; ++i) {
    std::string picture;
    for (int row = 0; row < 4; ++row) {
      std::string line;
      for (int column = 0; column < 4; ++column)
        line += fmt::format("{}[{}]", column > 0 ? ", " : "", (i * 16 + row * 4 + column) % 23 * 0.1);
      picture += fmt::format("{}[{}]", row > 0 ? ", " : "", line);
    }
    pictures += fmt::format("{}[{}]", i > 0 ? ", " : "", picture);
  }
  write_file(folder / "copy.yaml", fmt::format(R"(data:
  global_batch_size: 3
  train: {{format: inline, features: [{0}], labels: [{0}]}}
  preprocessing:
    - random_flip: {{mode: horizontal}}
    - random_rotation: {{factor: 0.2}}
    - random_crop: {{height: 3, width: 3}}
model:
  input_shape: [3, 3, 1]
  layers: [conv2d: {{filters: 1, kernel_size: 1, kernel_initializer: ones}}]
loss: mean_squared_error
optimizer: {{type: sgd, learning_rate: 0.0}}
training: {{epochs: 3}}
)",
                                               pictures));
  const Outcome outcome = run_program(folder, "fit copy.yaml --run-dir run");
  CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
  CHECK_MESSAGE(contains(outcome.err, "loss 0.0000"), outcome.err);
  CHECK_FALSE(contains(outcome.err, "epoch 2/3  done  loss 0.0001"));
  const Outcome refused = run_program(
      folder,
      "fit copy.yaml --set data.train='{format: synthetic, examples: 8, shape: [4, 4, 1], label_shape: [16]}' --set "
      "'model.layers=[flatten, dense: {units: 16}]'");
  CHECK(refused.exit_code == 2);
  CHECK_MESSAGE(
      contains(refused.err, "copy.yaml:5:27: data.preprocessing[0].random_flip: random_flip moves what pictures show"),
      refused.err);
}

}  // namespace
}  // namespace mirrortrain::testing::warnings_test
