// data.on_bad_example: skip, as a user sees it: training without bad examples is training on a set that never had them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "base/json.h"
#include "cli/program.h"

namespace mirrortrain::testing::bad_examples_test {
namespace {

using nlohmann::json;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::int64_t times(const std::string& text, const std::string& part) {
  std::int64_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

constexpr const char* kTable = R"(
name: table
seed: 3
data:
  global_batch_size: 8
  on_bad_example: skip
  train: {format: csv, file: train.csv, labels: kind, encoding: {color: one_hot}}
  validation: {fraction: 0.25, shuffle: true}
  test: {format: csv, file: test.csv, labels: kind}
model:
  input_shape: [3]
  layers:
    - dense: {units: 8, activation: relu}
    - dense: {units: 3}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
metrics: [accuracy]
optimizer: {type: adam, learning_rate: 0.05}
strategy: {devices: [cpu:0]}
training: {epochs: 3}
)";

struct Table {
  TemporaryFolder folder;
  Table() {
    write_file(folder / "table.yaml", kTable);
    std::string good = "size,color,kind\n", bad = good;
    for (int i = 0; i < 20; ++i) {
      const std::string rows = fmt::format("{},red,apple\n9,green,melon\n{},red,cherry\n", i, i + 5);
      good += rows;
      // Too few cells, a missing number, a word among numbers, quoted text that goes on, a word that is a class nowhere
      // else.
      const std::string wrong[] = {"7,red\n", ",red,apple\n", "many,green,melon\n", "\"1\n2\",red,\"app\nle\"\n",
                                   "wide,red,plum\n"};
      bad += i % 4 == 0 ? wrong[i / 4] + rows : rows;
    }
    write_file(folder / "good.csv", good);
    write_file(folder / "train.csv", bad);
    write_file(folder / "test.csv", "kind,color,size\nplum,green,8\nmelon,green,8\napple,blue,1\napple,red,1\n");
  }
  Outcome run(const std::string& arguments) { return run_program(folder, arguments); }
  std::string read(const std::string& file) { return read_text_file(folder / file); }
};

TEST_CASE_FIXTURE(Table, "a table's bad rows are skipped, counted and listed, and the rest is a table without them") {
  const Outcome refused = run("fit table.yaml --run-dir refused --set data.on_bad_example=error");
  CHECK(refused.exit_code == 1);
  CHECK_MESSAGE(contains(refused.err, "train.csv:2: row 0 (counting from 0), column 1 ('color'): expected 3 cells"),
                refused.err);
  CHECK_FALSE(fs::exists(folder / "refused"));

  const Outcome skipped = run("fit table.yaml --run-dir skipped");
  REQUIRE_MESSAGE(skipped.exit_code == 0, skipped.err);
  CHECK(contains(skipped.err, "train.csv cannot be used and are skipped; run.log lists them"));
  CHECK(contains(skipped.err, "warning: 5 of 65 examples in"));
  CHECK(contains(skipped.err, "warning: 2 of 4 examples in"));
  CHECK_FALSE(contains(skipped.err, "row 26"));
  const std::string log = read("skipped/run.log");
  CHECK(times(log, "skipped: ") == 7);
  CHECK_MESSAGE(contains(log, "train.csv:28: row 26 (counting from 0), column 0 ('size'): expected a finite number"),
                log);
  CHECK(contains(log, "test.csv:2: row 0 (counting from 0): the label 'plum' is none of the 3 classes"));
  CHECK(contains(log, "test.csv:4: row 2 (counting from 0), column 1 ('color'): the word 'blue' is none of the 2"));
  CHECK(parsed(read("skipped/classes.json")) == json({"apple", "cherry", "melon"}));

  REQUIRE(run("fit table.yaml --run-dir good --set data.train.file=good.csv").exit_code == 0);
  CHECK(read("good/model.safetensors") == read("skipped/model.safetensors"));
  CHECK(timeless(events_of(folder / "good/metrics.jsonl")) == timeless(events_of(folder / "skipped/metrics.jsonl")));
  REQUIRE(
      run("fit table.yaml --run-dir several --set strategy.devices=[cpu:0,cpu:1] --set training.epochs=1").exit_code ==
      0);
  REQUIRE(run("fit --resume several --set training.epochs=3").exit_code == 0);
  REQUIRE(run("fit table.yaml --run-dir several-good --set data.train.file=good.csv --set "
              "strategy.devices=[cpu:0,cpu:1]")
              .exit_code == 0);
  CHECK(read("several/model.safetensors") == read("several-good/model.safetensors"));

  const Outcome evaluated = run("eval skipped");
  CHECK(contains(evaluated.out, "(2 examples)"));
  CHECK(contains(evaluated.err, "warning: 2 of 4 examples in"));
  CHECK(contains(evaluated.err, "the label 'plum' is none of"));
  const Outcome checked = run("config check table.yaml");
  CHECK(checked.exit_code == 0);
  CHECK(times(checked.err, "are skipped") == 2);
}

TEST_CASE_FIXTURE(Table,
                  "a thorough check lists every bad example of every split, and is an error unless they are skipped") {
  const std::string check = "config check table.yaml --thorough ";
  const Outcome skipped = run(check);
  CHECK(skipped.exit_code == 0);
  CHECK(times(skipped.err, "train.csv:") == 5);
  CHECK(times(skipped.err, "test.csv:") == 2);

  const std::string as_errors = check + "--set data.on_bad_example=error ";
  const Outcome errors = run(as_errors);
  CHECK(errors.exit_code == 1);
  CHECK(contains(errors.err, "data.train: 5 of 65 examples in "));
  CHECK_MESSAGE(contains(errors.err, "train.csv:28: row 26 (counting from 0), column 0 ('size'): expected a finite"),
                errors.err);
  CHECK(times(errors.err, "train.csv:") == 5);
  CHECK(contains(errors.err, "data.test: 2 of 4 examples in "));
  CHECK(contains(errors.err, "test.csv:2: row 0 (counting from 0): the label 'plum' is none of the 3 classes"));
  CHECK(contains(errors.err, "2 errors"));
  CHECK(run(as_errors + "--set data.train.file=good.csv --set data.test=null").exit_code == 0);

  std::string many = "size,color,kind\n1,red,apple\n2,red,cherry\n3,green,melon\n4,red,apple\n";
  for (int i = 0; i < 250; ++i) many += "x,red,apple\n";
  write_file(folder / "train.csv", many);
  const Outcome bounded = run(as_errors + "--set data.test=null");
  CHECK(bounded.exit_code == 1);
  CHECK(times(bounded.err, "train.csv:") == 100);
  CHECK(contains(bounded.err, "and 150 more"));

  write_file(folder / "train.csv", "size,color,kind\nx,red,apple\ny,red,apple\n,red,apple\nz,red,apple\n,red,melon\n");
  const Outcome none = run(as_errors + "--set data.test=null");
  CHECK(none.exit_code == 1);
  CHECK(times(none.err, "train.csv:") == 5);
  CHECK(run(check + "--no-data").exit_code == 2);
}

TEST_CASE_FIXTURE(Table, "predictions of examples that are left keep their numbers") {
  REQUIRE(run("fit table.yaml --run-dir run").exit_code == 0);
  write_file(folder / "new.csv", "color,size\nred,1\nblue,1\ngreen,\ngreen,9\n");
  const std::string predict = "predict run --data new.csv ";
  const Outcome csv = run(predict);
  CHECK(csv.exit_code == 0);
  CHECK(contains(csv.out, "\n0,"));
  CHECK(contains(csv.out, "\n3,"));
  CHECK(times(csv.out, "\n") == 3);
  CHECK(contains(csv.err, "2 of 4 examples in"));
  REQUIRE(run(predict + "--output p.jsonl").exit_code == 0);
  std::istringstream lines(read("p.jsonl"));
  std::vector<std::int64_t> numbers;
  for (std::string line; std::getline(lines, line);) numbers.push_back(parsed(line)["index"]);
  CHECK(numbers == std::vector<std::int64_t>{0, 3});

  REQUIRE(run(predict + "--output p.npy").exit_code == 0);
  const std::string npy = read("p.npy");
  CHECK(contains(npy, "'shape': (4, 3,)"));
  REQUIRE(npy.size() == 128 + 12 * sizeof(float));
  std::vector<float> outputs(12);
  std::copy_n(npy.data() + 128, 12 * sizeof(float), reinterpret_cast<char*>(outputs.data()));
  for (std::size_t i = 0; i < 12; ++i) CHECK(std::isnan(outputs[i]) == (i >= 3 && i < 9));

  const Outcome refused = run(predict + "--set data.on_bad_example=error");
  CHECK(refused.exit_code == 1);
  CHECK(contains(refused.err, "new.csv:4: row 2 (counting from 0), column 1 ('size'): expected a number"));
}

TEST_CASE_FIXTURE(Table, "a set without a good example is refused with the first reasons, and a mixture in any case") {
  write_file(folder / "train.csv", "size,color,kind\n,red,apple\nx,red,apple\n");
  const Outcome none = run("fit table.yaml --run-dir run");
  CHECK(none.exit_code == 1);
  CHECK_MESSAGE(contains(none.err, "train.csv: none of the 2 examples can be used"), none.err);
  CHECK(contains(none.err, "expected a number, found an empty cell"));
  CHECK_FALSE(fs::exists(folder / "run"));
  write_file(folder / "train.csv", "size,color,kind\n1,red,apple\n1,red,4\n");
  const Outcome mixed = run("fit table.yaml --run-dir run");
  CHECK(mixed.exit_code == 1);
  CHECK(contains(mixed.err, "write all labels as numbers or all as words"));
}

TEST_CASE("a long list is cut short in run.log, with the total") {
  TemporaryFolder folder;
  json features = json::array(), labels = json::array();
  for (int i = 0; i < 150; ++i) {
    features.push_back({i, 1});
    labels.push_back(i < 30 ? i % 2 : -1);  // not a class
  }
  write_file(folder / "a.yaml",
             "data:\n  global_batch_size: 8\n  on_bad_example: skip\n  train: {format: csv, file: a.csv, labels: 2}\n"
             "model: {input_shape: [2], layers: [{dense: {units: 2}}]}\nstrategy: {devices: [cpu:0]}\n"
             "loss: {type: sparse_categorical_crossentropy, from_logits: true}\noptimizer: sgd\ntraining: {epochs: 1}");
  std::string csv;
  for (int i = 0; i < 150; ++i) csv += fmt::format("{},1,{}\n", i, labels[static_cast<std::size_t>(i)].get<int>());
  write_file(folder / "a.csv", csv);
  const Outcome outcome = run_program(folder, "fit a.yaml --run-dir run");
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  CHECK(contains(outcome.err, "120 of 150 examples in"));
  CHECK(contains(outcome.err, "run.log lists the first 100"));
  CHECK(times(read_text_file(folder / "run/run.log"), "skipped: ") == 100);
}

constexpr const char* kPictures = R"(
name: pictures
seed: 5
data:
  global_batch_size: 4
  on_bad_example: skip
  train: {format: image_folder, directory: train, image_size: [6, 6]}
  validation: {fraction: 0.2}
  preprocessing: [random_flip, {random_rotation: {factor: 0.1}}, {rescaling: {scale: 0.0039}}]
model:
  input_shape: [6, 6, 3]
  layers: [flatten, {dense: {units: 2}}]
loss: {type: sparse_categorical_crossentropy, from_logits: true}
optimizer: {type: adam, learning_rate: 0.01}
strategy: {devices: [cpu:0], threads_per_replica: 1}
training: {epochs: 3}
logging: {every_steps: 1}
)";

struct Pictures {
  TemporaryFolder folder;
  Pictures() {
    write_file(folder / "pictures.yaml", kPictures);
    ::setenv("XDG_CACHE_HOME", (folder / "cache").c_str(), 1);
    for (const char* set : {"train", "good"}) {
      const auto copy = [&](const char* name, const char* as) {
        fs::create_directories((folder / set / as).parent_path());
        fs::copy_file(repository_file(fmt::format("tests/pictures/{}", name)), folder / set / as);
      };
      for (const char* name : {"rgb.png", "alpha.png", "photo.jpg", "turned-2.JPG", "turned-3.JPG", "turned-5.JPG"}) {
        copy(name, fmt::format("cat/{}", name).c_str());
      }
      for (const char* name : {"gray.png", "gray.jpg", "palette.png", "progressive.jpeg", "turned-6.JPG"}) {
        copy(name, fmt::format("dog/{}", name).c_str());
      }
    }
    write_file(folder / "train/cat/aa.png", "no picture");
    std::string half = read_text_file(folder / "train/cat/photo.jpg");
    half.resize(half.size() / 2);
    write_file(folder / "train/cat/half.jpg", half);
    write_file(folder / "train/dog/zz.jpg", "");
  }
  ~Pictures() { ::unsetenv("XDG_CACHE_HOME"); }

  Outcome fit(const std::string& arguments) {
    Outcome outcome = run_program(folder, "fit " + arguments);
    CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
    return outcome;
  }
  std::string model(const std::string& run) { return read_text_file(folder / run / "model.safetensors"); }
  fs::path cache() {
    for (const auto& entry : fs::directory_iterator(folder / "cache/mirrortrain")) {
      if (entry.path().filename().string().starts_with("pictures-")) return entry.path();
    }
    return {};
  }
};

TEST_CASE_FIXTURE(Pictures, "pictures that do not decode are skipped, on any number of replicas and after a resume") {
  const Outcome refused = run_program(folder, "fit pictures.yaml --run-dir refused --set data.on_bad_example=error");
  CHECK(refused.exit_code == 1);
  CHECK(contains(refused.err, "aa.png: expected a picture as PNG, JPEG, WebP, BMP, GIF or TIFF, found none"));

  const Outcome skipped = fit("pictures.yaml --run-dir skipped");
  CHECK_MESSAGE(contains(skipped.err, "warning: 3 of 14 examples in"), skipped.err);
  const std::string log = read_text_file(folder / "skipped/run.log");
  for (const char* name : {"cat/aa.png: ", "cat/half.jpg: ", "dog/zz.jpg: "}) CHECK(contains(log, name));
  fit("pictures.yaml --run-dir without --set data.train.directory=good --set data.on_bad_example=error");
  CHECK(model("without") == model("skipped"));
  CHECK(timeless(events_of(folder / "without/metrics.jsonl")) == timeless(events_of(folder / "skipped/metrics.jsonl")));

  fit("pictures.yaml --run-dir two --set strategy.replicas=4 --set strategy.devices=[cpu:0,cpu:1] --set "
      "data.threads=3");
  fit("pictures.yaml --run-dir four --set strategy.replicas=4 --set training.steps=4");  // in the second epoch
  fit("--resume four --set training.steps=null");
  CHECK(model("two") == model("four"));
}

TEST_CASE_FIXTURE(Pictures, "two workers leave out the same pictures") {
  fit("pictures.yaml --run-dir one --set data.train.directory=good --set strategy.devices=[cpu:0,cpu:1]");
  const Outcome outcome = run_program(
      folder, "launch --workers 2 -- fit pictures.yaml --run-dir workers --set strategy.type=multi_worker_mirrored");
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  CHECK(times(outcome.err, "3 of 14 examples in") == 1);
  CHECK(model("one") == model("workers"));
}

TEST_CASE_FIXTURE(Pictures, "what was found of pictures is kept until one of them changes") {
  fit("pictures.yaml --run-dir first");
  json kept = parsed(read_text_file(cache()));
  json& bad = kept["finding"]["bad"];
  REQUIRE(bad.size() == 3);
  bad.push_back({13, "dog/zz.jpg: said by the file"});
  bad.erase(2);
  write_file(folder / "kept.json", json_text(kept));
  fs::copy_file(folder / "kept.json", cache(), fs::copy_options::overwrite_existing);
  fit("pictures.yaml --run-dir second");
  CHECK(contains(read_text_file(folder / "second/run.log"), "said by the file"));
  fs::copy_file(folder / "good/dog/gray.png", folder / "train/dog/zz.jpg", fs::copy_options::overwrite_existing);
  CHECK(contains(fit("pictures.yaml --run-dir third").err, "2 of 14 examples in"));
  write_file(cache(), "{");
  fit("pictures.yaml --run-dir fourth");
}

TEST_CASE_FIXTURE(Pictures, "a picture that becomes bad after all were looked at ends the run") {
  const fs::path picture = folder / "train/cat/rgb.png";
  write_file(picture, "xxxx");
  fit("pictures.yaml --run-dir first");
  json kept = parsed(read_text_file(cache()));  // that it was whole then
  json& bad = kept["finding"]["bad"];
  const auto found = std::ranges::find_if(bad, [](const json& one) { return contains(json_text(one), "rgb.png"); });
  REQUIRE(found != bad.end());
  bad.erase(found);
  write_file(cache(), json_text(kept));
  const Outcome outcome = run_program(folder, "fit pictures.yaml --run-dir second");
  CHECK(outcome.exit_code == 1);
  CHECK_MESSAGE(contains(outcome.err, "rgb.png: expected a picture as PNG, JPEG, WebP, BMP, GIF or TIFF, found none"),
                outcome.err);
}

TEST_CASE_FIXTURE(Pictures,
                  "of pictures with a table of labels, those that are missing are skipped, and of other sets "
                  "those of unknown classes") {
  write_file(folder / "labels.csv",
             "name,label\ncat/rgb.png,a\ncat/none.png,b\ndog/gray.png,b\ndog/zz.jpg,c\n"
             "cat/alpha.png,a\n");
  write_file(folder / "test.csv", "name,label\ncat/rgb.png,z\ndog/gray.png,b\n");
  const std::string options =
      "pictures.yaml --set data.train.labels=labels.csv --set data.validation=null --set 'data.test={format: "
      "image_folder, directory: train, labels: test.csv, image_size: [6, 6]}' --set model.layers[1].dense.units=3 ";
  const Outcome outcome = run_program(folder, "fit --run-dir run " + options);
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  CHECK(contains(outcome.err, "2 of 5 examples in"));
  CHECK(contains(outcome.err, "1 of 2 examples in"));
  const std::string log = read_text_file(folder / "run/run.log");
  CHECK(contains(log, "labels.csv:3: there is no picture"));
  CHECK(contains(log, "the class 'z' is none of the 3 of the training data"));
  const Outcome predicted = run_program(folder, "predict run --data train/dog");
  CHECK(predicted.exit_code == 0);
  CHECK(times(predicted.out, "\n") == 6);
}

}  // namespace
}  // namespace mirrortrain::testing::bad_examples_test
