// `predict`: a trained network on new data, and tables with words on their way through fit and eval.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>

#include "base/json.h"
#include "cli/program.h"

namespace mirrortrain::testing::predict_test {
namespace {

using nlohmann::json;

constexpr const char* kConfig = R"(
name: words
seed: 3
data:
  global_batch_size: 8
  train: {format: csv, file: train.csv, labels: kind, missing: mean, encoding: {color: one_hot}}
  test: {format: csv, file: test.csv, labels: kind}
model:
  input_shape: [3]
  layers:
    - dense: {units: 8, activation: relu}
    - dense: {units: 3}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
metrics: [accuracy]
optimizer: {type: adam, learning_rate: 0.05}
training: {epochs: 20}
)";

struct Fixture {
  TemporaryFolder folder;
  Fixture() {
    write_file(folder / "words.yaml", kConfig);
    std::string train = "size,color,kind\n";
    for (int i = 0; i < 40; ++i) train += "1,red,\"apple, red\"\n9,green,melon\n,red,cherry\n";
    write_file(folder / "train.csv", train);
    write_file(folder / "test.csv", "kind,color,size\nmelon,green,8\n\"apple, red\",red,1\n");
  }
  Outcome run(const std::string& arguments) { return run_program(folder, arguments); }
  void train() { REQUIRE(run("fit words.yaml --run-dir run").exit_code == 0); }
  std::string read(const std::string& file) { return read_text_file(folder / file); }
};

/// A zip file that holds one stored file.
std::string zip_of(const std::string& name, const std::string& content) {
  const auto little_endian = [](std::size_t number, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text += static_cast<char>(number >> (8 * i));
    return text;
  };
  std::uint32_t checksum = ~0U;
  for (const char c : content) {
    checksum ^= static_cast<std::uint8_t>(c);
    for (int i = 0; i < 8; ++i) checksum = checksum >> 1 ^ (checksum & 1 ? 0xEDB88320U : 0);
  }
  const std::string common = little_endian(20, 2) + std::string(8, '\0') + little_endian(~checksum, 4) +
                             little_endian(content.size(), 4) + little_endian(content.size(), 4) +
                             little_endian(name.size(), 2) + little_endian(0, 2);
  const std::string file = little_endian(0x04034b50, 4) + common + name + content;
  const std::string directory =
      little_endian(0x02014b50, 4) + little_endian(20, 2) + common + std::string(14, '\0') + name;
  return file + directory + little_endian(0x06054b50, 4) + little_endian(0, 4) + little_endian(1, 2) +
         little_endian(1, 2) + little_endian(directory.size(), 4) + little_endian(file.size(), 4) + little_endian(0, 2);
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST_CASE_FIXTURE(Fixture, "predictions that are no numbers are nan, whatever their sign") {
  train();
  std::string weights = read("run/model.safetensors");
  const float minus_nan = -std::numeric_limits<float>::quiet_NaN();
  for (int element = 1; element <= 3; ++element) {  // the last tensor's
    std::memcpy(weights.data() + weights.size() - 4 * static_cast<std::size_t>(element), &minus_nan, sizeof minus_nan);
  }
  write_file(folder / "nan.safetensors", weights);
  REQUIRE(run("fit words.yaml --run-dir broken --set training.on_non_finite=ignore --set training.steps=1 --set "
              "optimizer.learning_rate=0.0 --set model.initial_weights=nan.safetensors")
              .exit_code == 0);
  const Outcome predicted = run("predict broken --probabilities");
  CHECK_MESSAGE(predicted.exit_code == 0, predicted.err);
  CHECK_MESSAGE(contains(predicted.out, "\n0,,,nan,nan,nan,nan,nan,nan\n"), predicted.out);  // and no class
  CHECK_FALSE(contains(predicted.out, "-nan"));
  CHECK_MESSAGE(contains(predicted.err, "the model gives NaN for "), predicted.err);
  CHECK_MESSAGE(contains(predicted.err,
                         "first for row 0 (counting from 0): dense/kernel has values that are not finite; "
                         "take an earlier checkpoint"),
                predicted.err);
  REQUIRE(run("predict broken --output nan.jsonl").exit_code == 0);
  CHECK(parsed(lines_of(read("nan.jsonl"))[0])["prediction"].is_null());
  CHECK(parsed(lines_of(read("nan.jsonl"))[0])["name"].is_null());
  const Outcome evaluated = run("eval broken");
  CHECK_MESSAGE(contains(evaluated.err, "the loss is NaN: dense/kernel has values that are not finite"), evaluated.err);
}

TEST_CASE_FIXTURE(Fixture, "a table with words trains, evaluates and predicts with the names of its classes") {
  train();
  CHECK(parsed(read("run/classes.json")) == json({"apple, red", "cherry", "melon"}));
  CHECK(parsed(read("run/preprocessing.json"))["table"]["features"][1]["words"] == json({"green", "red"}));
  fs::remove(folder / "train.csv");  // a run brings what it learnt
  const Outcome evaluated = run("eval run --json evaluation.json");
  CHECK(evaluated.exit_code == 0);
  const json evaluation = parsed(read("evaluation.json"));
  CHECK(evaluation["metrics"]["accuracy"] == 1);
  CHECK(evaluation["confusion_matrix"] == json({{1, 0, 0}, {0, 0, 0}, {0, 0, 1}}));
  CHECK(
      evaluation["classes"][0] ==
      json({{"class", 0}, {"name", "apple, red"}, {"precision", 1.0}, {"recall", 1.0}, {"f1", 1.0}, {"examples", 1}}));
  CHECK(evaluation["expected_calibration_error"].get<double>() < 0.5);
  CHECK(contains(evaluated.out, "accuracy 1.0"));

  write_file(folder / "new.csv", "color,size\nred,1\ngreen,9\n");
  const Outcome predicted = run("predict run --data new.csv");
  CHECK(predicted.exit_code == 0);
  CHECK(predicted.out == "index,prediction,name\n0,0,\"apple, red\"\n1,2,melon\n");
  CHECK(run("predict run").out == "index,prediction,name\n0,2,melon\n1,0,\"apple, red\"\n");  // the test split
  write_file(folder / "new.csv", "colour,size\nred,1\n");
  const Outcome refused = run("predict run --data new.csv --output out.csv");
  CHECK(refused.exit_code == 1);
  CHECK(
      contains(refused.err, "there is no column 'color' in the header, which the training data has; the columns are"));
  CHECK_FALSE(fs::exists(folder / "out.csv"));
}

TEST_CASE_FIXTURE(Fixture, "logits of several labels have probabilities, and an export has them too") {
  write_file(folder / "labels.yaml", R"(
data: {global_batch_size: 4, train: {format: synthetic, examples: 8, shape: [3], label_shape: [2], classes: 2}}
model: {input_shape: [3], layers: [dense: {units: 2}]}
loss: {type: binary_crossentropy, from_logits: true}
optimizer: {type: sgd, learning_rate: 0.1}
training: {steps: 1}
)");
  REQUIRE(run("fit labels.yaml --run-dir run -q").exit_code == 0);
  const std::vector<std::string> rows = lines_of(run("predict run --split train --probabilities").out);
  CHECK(rows[0] == "index,output_0,output_1,probability_0,probability_1");
  double index = 0, logits[2] = {}, probabilities[2] = {};
  REQUIRE(std::sscanf(rows[1].c_str(), "%lf,%lf,%lf,%lf,%lf", &index, logits, logits + 1, probabilities,
                      probabilities + 1) == 5);
  for (int label : {0, 1}) {
    CHECK(probabilities[label] == doctest::Approx(1 / (1 + std::exp(-logits[label]))).epsilon(1e-6));
  }
  CHECK(lines_of(run("predict run --split train").out)[0] == "index,output_0,output_1");
  REQUIRE(run("predict run --split train --probabilities --output p.jsonl").exit_code == 0);
  const json line = parsed(lines_of(read("p.jsonl"))[0]);
  CHECK(line["prediction"][1].get<double>() == doctest::Approx(logits[1]));
  CHECK(line["probabilities"][1].get<double>() == doctest::Approx(probabilities[1]));
  CHECK(run("export run -q").exit_code == 0);
}

TEST_CASE_FIXTURE(Fixture, "predict that is stopped by a signal leaves no file behind") {
  train();
  std::ofstream many(folder / "many.csv");
  many << "size,color\n";
  for (int i = 0; i < 1000000; ++i) many << i % 7 << ",red\n";
  many.close();
  for (const std::string signal : {"TERM", "INT", "KILL"}) {
    const Outcome outcome =
        run_script(folder, fmt::format("setsid \"$MIRRORTRAIN\" predict run --data many.csv --output out.csv & pid=$!\n"
                                       "while ! {}; do kill -0 $pid || exit 99; sleep 0.005; done\n"
                                       "kill -{} $pid; wait $pid",
                                       is_writing("out.csv"), signal));
    // A shell's background job ignores SIGINT, unless the program takes it.
    CHECK(outcome.exit_code == (signal == "TERM" ? 143 : signal == "INT" ? 130 : 137));
    if (signal != "KILL") CHECK(contains(outcome.err, "stopped by a signal; out.csv is not written"));
    for (const auto& entry : fs::directory_iterator(folder.path())) {
      CHECK_FALSE(entry.path().filename().string().starts_with("out.csv"));
    }
  }
}

TEST_CASE_FIXTURE(Fixture, "predictions are the same bits on any number of replicas") {
  std::string rows = "size,color\n";
  for (int i = 0; i < 101; ++i) rows += fmt::format("{},{}\n", 0.37 * i, i % 2 == 0 ? "red" : "green");
  write_file(folder / "many.csv", rows);
  train();
  for (const int replicas : {1, 2, 3}) {
    const Outcome outcome =
        run(fmt::format("predict run --data many.csv --output {0}.npy "
                        "--set strategy.devices=[{1}]",
                        replicas,
                        replicas == 1   ? "cpu:0"
                        : replicas == 2 ? "cpu:0,cpu:1"
                                        : "cpu:0,cpu:1,cpu:2"));
    CHECK(outcome.exit_code == 0);
  }
  CHECK(read("1.npy").size() == 128 + 101 * 3 * sizeof(float));
  CHECK(contains(read("1.npy"), "'shape': (101, 3,)"));
  CHECK(read("1.npy") == read("2.npy"));
  CHECK(read("1.npy") == read("3.npy"));
}

TEST_CASE_FIXTURE(Fixture, "probabilities add up to one and their largest is the prediction, in csv and jsonl") {
  train();
  REQUIRE(run("predict run --probabilities --output a.csv").exit_code == 0);
  REQUIRE(run("predict run --probabilities --output a.jsonl").exit_code == 0);
  const auto csv = lines_of(read("a.csv")), jsonl = lines_of(read("a.jsonl"));
  REQUIRE(csv.size() == 3);
  REQUIRE(jsonl.size() == 2);
  CHECK(csv[0] ==
        "index,prediction,name,probability_0,probability_1,probability_2,\"probability_apple, red\","
        "probability_cherry,probability_melon");
  const json first = parsed(jsonl[0]);
  CHECK(first["prediction"] == 2);
  CHECK(first["name"] == "melon");
  double sum = 0;
  for (const double share : first["probabilities"]) sum += share;
  CHECK(std::abs(sum - 1) < 1e-6);
  CHECK(first["probabilities"][2] > first["probabilities"][0]);
}

TEST_CASE_FIXTURE(Fixture, "the probabilities of the classes at each step add up to one") {
  write_file(folder / "text.txt", "the rain in Spain stays mainly in the plain");
  write_file(
      folder / "text.yaml",
      "data:\n  global_batch_size: 4\n  train: {format: text, files: text.txt, window: 4}\n"
      "model:\n  input_shape: [4]\n  layers:\n    - embedding: {input_dim: 256, output_dim: 8}\n"
      "    - dense: {units: 256}\n"
      "loss: {type: sparse_categorical_crossentropy, from_logits: true}\noptimizer: adam\ntraining: {epochs: 1}\n");
  REQUIRE(run("fit text.yaml --run-dir text").exit_code == 0);
  REQUIRE(run("predict text --split train --probabilities --output p.npy").exit_code == 0);
  const std::string file = read("p.npy");
  constexpr std::size_t kClasses = 256;
  std::vector<float> shares((file.size() - 128) / sizeof(float));
  REQUIRE(shares.size() % (4 * kClasses) == 0);
  REQUIRE(!shares.empty());
  std::memcpy(shares.data(), file.data() + 128, shares.size() * sizeof(float));
  for (std::size_t first = 0; first < shares.size(); first += kClasses) {
    double sum = 0;
    for (std::size_t i = 0; i < kClasses; ++i) sum += static_cast<double>(shares[first + i]);
    CHECK(std::abs(sum - 1) < 1e-5);
  }
}

TEST_CASE_FIXTURE(Fixture,
                  "a model of a class for each step names them step by step, but for padding, and eval counts them") {
  write_file(
      folder / "tagger.yaml",
      "data:\n  global_batch_size: 3\n"
      "  train: {format: inline, features: [[1, 2, 3], [2, 1, 0], [3, 0, 0]], labels: [[0, 1, 2], [1, 0, 2], [2, "
      "1, 0]]}\n"
      "model:\n  input_shape: [3]\n  layers:\n"
      "    - embedding: {input_dim: 4, output_dim: 8, mask_zero: true}\n    - dense: {units: 3}\n"
      "loss: {type: sparse_categorical_crossentropy, from_logits: true}\nmetrics: [accuracy]\n"
      "optimizer: {type: adam, learning_rate: 0.1}\ntraining: {epochs: 40}\n");
  REQUIRE(run("fit tagger.yaml --run-dir tagger").exit_code == 0);
  CHECK(run("predict tagger --split train").out ==
        "index,prediction_0,prediction_1,prediction_2\n0,0,1,2\n1,1,0,\n2,2,,\n");
  const auto csv = lines_of(run("predict tagger --split train --probabilities").out);
  REQUIRE(csv.size() == 4);
  CHECK(csv[0] ==
        "index,prediction_0,prediction_1,prediction_2,probability_0_0,probability_0_1,probability_0_2,probability_1_0,"
        "probability_1_1,probability_1_2,probability_2_0,probability_2_1,probability_2_2");
  CHECK(csv[3].starts_with("2,2,,,"));
  CHECK(csv[3].ends_with(",,,,,,"));
  CHECK(std::ranges::count(csv[3], ',') == 12);

  REQUIRE(run("predict tagger --split train --probabilities --output p.jsonl").exit_code == 0);
  const auto jsonl = lines_of(read("p.jsonl"));
  REQUIRE(jsonl.size() == 3);
  const json second = parsed(jsonl[1]);
  CHECK(second["prediction"] == json({1, 0, nullptr}));
  CHECK(second["probabilities"][0][1] > 0.5);
  CHECK(second["probabilities"][1].size() == 3);
  CHECK(second["probabilities"][2] == nullptr);

  REQUIRE(run("eval tagger --split train --json e.json --set 'data.train.labels=[[0, 1, 2], [1, 0, 2], [1, 1, 0]]'")
              .exit_code == 0);
  const json evaluation = parsed(read("e.json"));
  CHECK(evaluation["confusion_matrix"] == json({{2, 0, 0}, {0, 2, 1}, {0, 0, 1}}));  // six words, no padding
  CHECK(evaluation["classes"][1]["examples"] == 3);
  CHECK(evaluation["metrics"]["accuracy"].get<double>() == doctest::Approx(5.0 / 6));
}

TEST_CASE_FIXTURE(Fixture, "a class for each step, and its padding, are those of one replica on any number of them") {
  std::string features, labels;  // more than a replica computes at a time, and no whole number of times
  const char* const rows[] = {"[1, 2, 3], ", "[2, 1, 0], ", "[3, 0, 0], ", "[1, 3, 0], "};
  for (int i = 0; i < 77; ++i) {
    features += rows[i % 4];
    labels += "[0, 1, 2], ";
  }
  write_file(
      folder / "tagger.yaml",
      fmt::format("data:\n  global_batch_size: 7\n"
                  "  train: {{format: inline, features: [{}], labels: [{}]}}\n"
                  "model:\n  input_shape: [3]\n  layers:\n"
                  "    - embedding: {{input_dim: 4, output_dim: 8, mask_zero: true}}\n    - dense: {{units: 3}}\n"
                  "loss: {{type: sparse_categorical_crossentropy, from_logits: true}}\noptimizer: adam\n"
                  "training: {{epochs: 1}}\n",
                  features.substr(0, features.size() - 2), labels.substr(0, labels.size() - 2)));
  REQUIRE(run("fit tagger.yaml --run-dir tagger").exit_code == 0);
  const std::string one = run("predict tagger --split train --set strategy.devices=[cpu:0]").out;
  const std::vector<std::string> lines = lines_of(one);
  REQUIRE(lines.size() == 78);
  const int padding[] = {0, 1, 2, 1};
  for (std::size_t i = 0; i < 77; ++i) {
    CAPTURE(lines[i + 1]);
    CHECK(lines[i + 1].starts_with(fmt::format("{},", i)));
    CHECK(lines[i + 1].ends_with(std::string(static_cast<std::size_t>(padding[i % 4]), ',')));
    CHECK(lines[i + 1][lines[i + 1].size() - static_cast<std::size_t>(padding[i % 4]) - 1] != ',');
  }
  CHECK(run("predict tagger --split train --set strategy.devices=[cpu:0,cpu:1]").out == one);
  CHECK(run("predict tagger --split train --set strategy.devices=[cpu:0,cpu:1,cpu:2]").out == one);
}

TEST_CASE_FIXTURE(Fixture, "a class for each pixel of a picture is predicted pixel by pixel") {
  const std::string end =
      "optimizer: {type: adam, learning_rate: 0.1}\ntraining: {epochs: 60}\nlogging: {report: false}\n";
  const std::string picture =
      "data:\n  global_batch_size: 1\n"
      "  train: {format: inline, features: [[[1, 0, 0], [0, 1, 1]]], labels: [[[1, 0, 0], [0, 1, 1]]]}\n"
      "model:\n  input_shape: [2, 3, 1]\n  layers:\n";
  write_file(folder / "pixels.yaml", picture +
                                         "    - conv2d: {filters: 2, kernel_size: 1}\n"
                                         "loss: {type: sparse_categorical_crossentropy, from_logits: true}\n" +
                                         end);
  REQUIRE(run("fit pixels.yaml --run-dir pixels").exit_code == 0);
  CHECK(run("predict pixels --split train").out ==
        "index,prediction_0_0,prediction_0_1,prediction_0_2,prediction_1_0,prediction_1_1,prediction_1_2\n"
        "0,1,0,0,0,1,1\n");
  REQUIRE(run("predict pixels --split train --output p.jsonl --probabilities").exit_code == 0);
  const json first = parsed(read("p.jsonl"));
  CHECK(first["prediction"] == json({{1, 0, 0}, {0, 1, 1}}));
  CHECK(first["probabilities"][1][2][1] > 0.5);
  CHECK(first["probabilities"][1][2].size() == 2);
  REQUIRE(run("eval pixels --split train --json e.json").exit_code == 0);
  CHECK(parsed(read("e.json"))["confusion_matrix"] == json({{3, 0}, {0, 3}}));
}

TEST_CASE_FIXTURE(
    Fixture, "one number for each step or pixel is yes or no where a metric of classes is asked for, else a number") {
  const std::string end =
      "optimizer: {type: adam, learning_rate: 0.1}\ntraining: {epochs: 60}\nlogging: {report: false}\n";
  struct Row {
    const char *features, *labels, *model, *columns, *classes, *steps;
  };
  const Row rows[] = {
      {"[[[1, 0, 0], [0, 1, 1]]]", "[[[1, 0, 0], [0, 1, 1]]]",
       "  input_shape: [2, 3, 1]\n  layers:\n    - conv2d: {filters: 1, kernel_size: 1, activation: sigmoid}\n",
       "index,output_0,output_1,output_2,output_3,output_4,output_5\n", "0,1,0,0,0,1,1\n",
       "index,prediction_0_0,prediction_0_1,prediction_0_2,prediction_1_0,prediction_1_1,prediction_1_2\n"},
      {"[[[1], [0], [1]]]", "[[[1], [0], [1]]]",
       "  input_shape: [3, 1]\n  layers:\n    - dense: {units: 1, activation: sigmoid}\n",
       "index,output_0,output_1,output_2\n", "0,1,0,1\n", "index,prediction_0,prediction_1,prediction_2\n"},
  };
  for (const Row& row : rows) {
    for (const char* const metrics : {"[]", "[mean_squared_error, mean_absolute_error, r2_score]", "[accuracy]",
                                      "[mean_squared_error, auc]", "[f1_score]", "[precision]", "[recall]"}) {
      CAPTURE(std::string(row.columns));
      CAPTURE(std::string(metrics));
      const bool are_numbers = std::string(metrics) == "[]" || contains(metrics, "r2_score");
      write_file(folder / "yes.yaml",
                 fmt::format("data:\n  global_batch_size: 1\n  train: {{format: inline, features: {}, labels: {}}}\n"
                             "model:\n{}loss: binary_crossentropy\nmetrics: {}\n{}",
                             row.features, row.labels, row.model, metrics, end));
      const Outcome trained = run("fit yes.yaml --run-dir yes");
      REQUIRE_MESSAGE(trained.exit_code == 0, trained.err);
      const std::string predicted = run("predict yes --split train").out;
      CHECK(predicted.starts_with(are_numbers ? row.columns : std::string(row.steps) + row.classes));
      REQUIRE(run("eval yes --split train --json e.json").exit_code == 0);
      CHECK(parsed(read("e.json")).contains("confusion_matrix") != are_numbers);
      fs::remove_all(folder / "yes");
    }
  }
}

TEST_CASE_FIXTURE(Fixture, "yes or no for each step has both probabilities") {
  write_file(folder / "yes.yaml",
             "data:\n  global_batch_size: 1\n  train: {format: inline, features: [[1, 2, 1]], labels: [[1, 0, 1]]}\n"
             "model:\n  input_shape: [3]\n  layers:\n    - embedding: {input_dim: 3, output_dim: 4}\n"
             "    - dense: {units: 1}\n"
             "loss: {type: binary_crossentropy, from_logits: true}\nmetrics: [accuracy]\n"
             "optimizer: {type: adam, learning_rate: 0.1}\ntraining: {epochs: 40}\n");
  REQUIRE(run("fit yes.yaml --run-dir yes").exit_code == 0);
  REQUIRE(run("predict yes --split train --output p.jsonl --probabilities").exit_code == 0);
  const json yes = parsed(read("p.jsonl"));
  CHECK(yes["prediction"] == json({1, 0, 1}));
  CHECK(yes["probabilities"][0][0].get<double>() + yes["probabilities"][0][1].get<double>() == doctest::Approx(1));
  CHECK(yes["probabilities"][1][0] > 0.5);
  REQUIRE(run("eval yes --split train --json e.json").exit_code == 0);
  CHECK(parsed(read("e.json"))["confusion_matrix"] == json({{1, 0}, {0, 2}}));
}

TEST_CASE_FIXTURE(Fixture, "numbers are predicted as they come out, of npy and npz without labels too") {
  write_file(folder / "line.yaml",
             "data:\n  global_batch_size: 2\n  train: {format: inline, features: [[1], [2]], labels: [2, 4]}\n"
             "model:\n  input_shape: [1]\n  layers:\n"
             "    - dense: {units: 1, use_bias: false, kernel_initializer: {constant: {value: 2}}}\n"
             "loss: mean_squared_error\noptimizer: sgd\ntraining: {epochs: 1}\n");
  REQUIRE(run("fit line.yaml --run-dir line").exit_code == 0);
  CHECK(run("predict line --split train").out == "index,prediction\n0,2\n1,4\n");
  CHECK(run("predict line --split train --probabilities").out == "index,prediction,output_0\n0,2,2\n1,4,4\n");
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), }";
  header.append(64 - (10 + header.size() + 1) % 64, ' ');
  header += '\n';
  const float seven = 7;
  const std::string array = std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(header.size()) + '\0' + header +
                            std::string(reinterpret_cast<const char*>(&seven), 4);
  write_file(folder / "x.npy", array);
  CHECK(run("predict line --data x.npy").out == "index,prediction\n0,14\n");
  write_file(folder / "x.npz", zip_of("x.npy", array));
  CHECK(run("predict line --data x.npz").out == "index,prediction\n0,14\n");
  write_file(folder / "other.npz", zip_of("x2.npy", array));
  const Outcome unnamed = run("predict line --data other.npz");
  CHECK(unnamed.exit_code == 1);
  CHECK_MESSAGE(contains(unnamed.err,
                         "other.npz: there is no array 'x' in it, but [x2]; new examples are taken from that name: "
                         "save them as numpy.savez(FILE, x=...)"),
                unnamed.err);
  // A run that was not trained on a table knows of no label among a table's columns.
  write_file(folder / "x.csv", "3\n5\n");
  CHECK(run("predict line --data x.csv").out == "index,prediction\n0,6\n1,10\n");
  write_file(folder / "wide.csv", "3,0\n5,1\n");
  const Outcome wide = run("predict line --data wide.csv");
  CHECK(wide.exit_code == 1);
  CHECK_MESSAGE(contains(wide.err, "wide.csv: expected 1 columns, those of the model's input, found 2"), wide.err);
}

TEST_CASE_FIXTURE(
    Fixture, "pictures give the same bits however they are read ahead and after a resume, and are predicted by name") {
  const std::string fit =
      fmt::format("fit '{}' --set strategy.devices=[cpu:0,cpu:1] ", repository_file("configs/picture-folder.yaml"));
  REQUIRE(run(fit + "--run-dir a --set training.epochs=2 --set data.threads=1").exit_code == 0);
  REQUIRE(run(fit + "--run-dir b --set training.epochs=2 --set data.threads=4 --set data.memory=1").exit_code == 0);
  REQUIRE(run(fit + "--run-dir c --set training.epochs=1").exit_code == 0);
  REQUIRE(run(fit + "--run-dir c --set training.epochs=2 --resume").exit_code == 0);
  CHECK(read("a/model.safetensors") == read("b/model.safetensors"));
  CHECK(read("a/model.safetensors") == read("c/model.safetensors"));
  CHECK(parsed(read("a/classes.json")) == json({"circle", "square", "triangle"}));
  const std::string test = repository_file("data/tiny-shapes/test");
  CHECK(lines_of(run(fmt::format("predict a --data '{}/circle'", test)).out).size() == 9);
  CHECK(lines_of(run(fmt::format("predict a --data '{}'", test)).out).size() == 25);
  CHECK(contains(run("eval a").out, "(24 examples)"));
  std::vector<fs::path> circles;
  for (const auto& entry : fs::directory_iterator(test + "/circle")) circles.push_back(entry.path());
  std::ranges::sort(circles);
  REQUIRE(run(fmt::format("predict a --data '{}/circle' --output p.jsonl", test)).exit_code == 0);
  const std::vector<std::string> predictions = lines_of(read("p.jsonl"));
  REQUIRE(predictions.size() == circles.size());
  for (std::size_t i = 0; i < circles.size(); ++i) CHECK(parsed(predictions[i])["file"] == circles[i].string());
  // One picture alone is the first of its folder.
  CHECK(lines_of(run(fmt::format("predict a --data '{}'", circles[0].string())).out) ==
        std::vector<std::string>{"index,prediction,name",
                                 fmt::format("0,{},{}", parsed(predictions[0])["prediction"].get<int>(),
                                             parsed(predictions[0])["name"].get<std::string>())});

  fs::create_directories(folder / "broken");
  write_file(folder / "broken/x.png", "no picture");
  const Outcome refused = run("predict a --data broken --output out.csv");
  CHECK(refused.exit_code == 1);
  CHECK(contains(refused.err, "broken/x.png: expected a picture as PNG, JPEG, WebP, BMP, GIF or TIFF, found none"));
  CHECK_FALSE(fs::exists(folder / "out.csv"));
}

TEST_CASE_FIXTURE(Fixture,
                  "a normalization that adapts is kept with the run, for eval and predict without the training data") {
  REQUIRE(run("fit words.yaml --run-dir run --set 'data.preprocessing=[{normalization: {adapt: true}}]'").exit_code ==
          0);
  const json kept = parsed(read("run/preprocessing.json"))["normalization"];
  REQUIRE(kept.size() == 1);
  const std::vector<double> mean{5, 1.0 / 3, 2.0 / 3}, variance{32.0 / 3, 2.0 / 9, 2.0 / 9};
  for (std::size_t c = 0; c < 3; ++c) {
    CHECK(kept[0]["mean"][c].get<double>() == doctest::Approx(mean[c]).epsilon(1e-12));
    CHECK(kept[0]["variance"][c].get<double>() == doctest::Approx(variance[c]).epsilon(1e-12));
  }
  // Given by hand, the same numbers train the same network.
  REQUIRE(run("fit words.yaml --run-dir given --set 'data.preprocessing=[{normalization: " + json_text(kept[0]) + "}]'")
              .exit_code == 0);
  CHECK(read("run/model.safetensors") == read("given/model.safetensors"));
  fs::remove(folder / "train.csv");
  const Outcome evaluated = run("eval run");
  CHECK(evaluated.exit_code == 0);
  CHECK(evaluated.out == run("eval given").out);
  const Outcome predicted = run("predict run --probabilities");
  CHECK(predicted.exit_code == 0);
  CHECK(predicted.out == run("predict given --probabilities").out);
  CHECK(lines_of(predicted.out).size() == 3);
}

TEST_CASE_FIXTURE(Fixture, "what is wrong with a run's own data is told at their place in its configuration") {
  train();
  struct Row {
    const char *table, *answer;
  };
  const Row rows[] = {
      {"kind,color,size\nmelon,green,big\n", "test.csv:2: row 0 (counting from 0), column 2 ('size'): expected a"},
      {"kind,color\nmelon,green\n", "test.csv: there is no column 'size' in the header"},
      {"kind,color,size\nplum,green,8\n", "test.csv:2: "},
      {"kind,color,size\n", "test.csv: expected at least one example, found none"},
  };
  const std::string configuration = read("run/config.yaml");
  const auto line =
      std::count(configuration.begin(),
                 configuration.begin() + static_cast<std::ptrdiff_t>(configuration.find("\n  test:")), '\n') +
      2;
  for (const Row& row : rows) {
    CAPTURE(std::string(row.table));
    write_file(folder / "test.csv", row.table);
    for (const char* const command : {"predict run", "predict run --split test", "eval run"}) {
      CAPTURE(std::string(command));
      const Outcome outcome = run(command);
      CHECK(outcome.exit_code == 1);
      CHECK_MESSAGE(contains(outcome.err, fmt::format("run/config.yaml:{}:3: data.test: ", line)), outcome.err);
      CHECK_MESSAGE(contains(outcome.err, row.answer), outcome.err);
    }
  }
  write_file(folder / "new.csv", rows[1].table);
  CHECK_FALSE(contains(run("predict run --data new.csv").err, "config.yaml"));
  const Outcome missing = run("predict run --data nowhere.csv");
  CHECK(missing.exit_code == 1);
  CHECK_MESSAGE(contains(missing.err, "--data nowhere.csv: there is no such file or folder"), missing.err);
}

TEST_CASE_FIXTURE(Fixture, "what predict cannot do is refused with the remedy") {
  train();
  const auto error = [&](const std::string& arguments) {
    const Outcome outcome = run("predict " + arguments);
    CHECK(outcome.exit_code == 2);
    return outcome.err;
  };
  CHECK(contains(error("nowhere"), "nowhere"));
  CHECK(contains(error("run --output a.txt"), "expected a file that ends in .csv, .jsonl, .npy or .npz"));
  CHECK(contains(error("run --split validation"),
                 "has no data.validation; choose --split train or --split test, or a file with --data FILE"));
  CHECK(contains(error("run --split test --data new.csv"), "--data"));
}

TEST_CASE("a new table may have more and fewer than the training data, and what it has goes through") {
  const TemporaryFolder folder;
  std::string rows = "id,island,mass,species\n";
  for (int i = 0; i < 60; ++i) {
    rows += fmt::format("{},{},{},{}\n", i * 3 + 7, i % 4 < 2 ? "Biscoe" : "Dream", (i % 2 == 0 ? 3600 : 5100) + i,
                        i % 2 == 0 ? "Adelie" : "Gentoo");
  }
  write_file(folder / "p.csv", rows);
  write_file(folder / "c.yaml", R"(
data:
  global_batch_size: 16
  train: {format: csv, file: p.csv, labels: species, features: [island, mass], missing: mean,
    encoding: {island: {one_hot: {unknown: own_class}}}}
  preprocessing: [{normalization: {adapt: true}}]
model: {input_shape: [4], layers: [dense: {units: 1}]}
loss: {type: binary_crossentropy, from_logits: true}
optimizer: {type: adam, learning_rate: 0.05}
training: {epochs: 30}
)");
  REQUIRE(run_program(folder, "fit c.yaml --run-dir run -q").exit_code == 0);
  write_file(folder / "new.csv",
             "name,id,mass,island,species,extra\nbob,1,3600,Biscoe,Adelie,x\nann,2,5100,Torgersen,Gentoo,y\n"
             "\"c, d\",3,NA,,Gentoo,z\n");
  const Outcome kept = run_program(folder, "predict run --data new.csv --keep id,extra --labels --probabilities");
  CHECK_MESSAGE(kept.out.starts_with("index,prediction,name,probability_0,probability_1,probability_Adelie,"
                                     "probability_Gentoo,id,extra,label\n0,0,Adelie,"),
                kept.out);
  CHECK(contains(kept.out, ",1,x,Adelie\n1,1,Gentoo,"));
  CHECK(contains(kept.out, ",3,z,Gentoo\n"));
  CHECK(run_program(folder, "predict run --data new.csv --labels --threshold 0.999999").out ==
        "index,prediction,name,label\n0,0,Adelie,Adelie\n1,0,Adelie,Gentoo\n2,0,Adelie,Gentoo\n");
  CHECK(run_script(folder, "cat new.csv | \"$MIRRORTRAIN\" predict run --data -").out ==
        run_program(folder, "predict run --data new.csv").out);
  CHECK(run_program(folder, "predict run --data new.csv").out.starts_with("index,prediction,name\n0,0,Adelie\n"));
  CHECK(run_program(folder, "predict run --split train --labels")
            .out.starts_with("index,prediction,name,label\n0,0,Adelie,Adelie\n"));
  const Outcome wrong = run_program(folder, "predict run --data new.csv --keep nme");
  CHECK(wrong.exit_code == 1);
  CHECK(contains(wrong.err,
                 "there is no column 'nme' to keep; the columns are name, id, mass, island, species, extra; did"));
  CHECK(run_program(folder, "predict run --keep id").exit_code == 2);
  for (const auto& [file, what] : {std::pair("o.jsonl", "key"), std::pair("o.csv", "column")}) {
    const Outcome same = run_program(folder, fmt::format("predict run --data new.csv --keep name -o {}", file));
    CHECK(same.exit_code == 2);
    CHECK_MESSAGE(contains(same.err, fmt::format("--keep name: 'name' is a {} of the predictions themselves", what)),
                  same.err);
    CHECK(!fs::exists(folder / file));
  }
  CHECK(run_program(folder, "predict run --data new.csv --keep id --output o.jsonl").exit_code == 0);
  CHECK(run_program(folder, "predict run --data new.csv --keep id,id").exit_code == 2);
  CHECK(run_program(folder, "predict run --data new.csv --threshold 1.5").exit_code == 2);
  // Without a list of features, columns that nobody knows are passed over, with a warning.
  const std::string all = "--set data.train.features=null --set 'model.input_shape=[5]' --run-dir all -q";
  REQUIRE(run_program(folder, "fit c.yaml " + all).exit_code == 0);
  const Outcome extra = run_program(folder, "predict all --data new.csv");
  CHECK(extra.exit_code == 0);
  CHECK_MESSAGE(contains(extra.err, "the training data has no column 'extra', which is passed over"), extra.err);
}

TEST_CASE("new data in other units are warned of, whether the run normalizes or not") {
  const TemporaryFolder folder;
  const auto table = [&](const char* name, double unit) {
    std::string rows = "mass,wing,y\n";
    for (int i = 0; i < 30; ++i) rows += fmt::format("{},{},{}\n", unit * (1 + i % 7), unit * (i % 5) / 5, i % 2);
    write_file(folder / name, rows);
  };
  table("kilograms.csv", 1);
  table("grams.csv", 1000);
  for (const std::string steps : {"[]", "[rescaling: {scale: 0.5}]", "[normalization: {adapt: true}]"}) {
    CAPTURE(steps);
    write_file(folder / "c.yaml", fmt::format(R"(
data:
  global_batch_size: 10
  train: {{format: csv, file: kilograms.csv, labels: y}}
  preprocessing: {}
model: {{input_shape: [2], layers: [dense: {{units: 2}}]}}
loss: {{type: sparse_categorical_crossentropy, from_logits: true}}
optimizer: sgd
logging: {{report: false, tensorboard: false}}
)",
                                              steps));
    fs::remove_all(folder / "run");
    REQUIRE(run_program(folder, "fit c.yaml --run-dir run -q").exit_code == 0);
    for (const std::string command : {"predict run --data ", "eval run --data "}) {
      CAPTURE(command);
      const Outcome other = run_program(folder, command + "grams.csv");
      CHECK(other.exit_code == 0);
      CHECK_MESSAGE(contains(other.err, "grams.csv: a feature reaches "), other.err);
      CHECK(contains(other.err, ", as if it were in another unit; write both in one"));
      CHECK_FALSE(contains(run_program(folder, command + "kilograms.csv").err, "a feature reaches"));
    }
  }
}

TEST_CASE("what a run kept of its training data is not predicted with once it was changed") {
  const TemporaryFolder folder;
  write_file(folder / "a.csv", "a,y\n1,robin\n2,wren\n3,wren\n4,robin\n");
  write_file(folder / "c.yaml", R"(
data: {global_batch_size: 4, train: {format: csv, file: a.csv, labels: y}}
model: {input_shape: [1], layers: [dense: {units: 2}]}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
optimizer: sgd
logging: {report: false, tensorboard: false}
)");
  REQUIRE(run_program(folder, "fit c.yaml --run-dir run -q").exit_code == 0);
  const std::string classes = read_text_file(folder / "run/classes.json");
  write_file(folder / "run/classes.json", "[\"rabin\", \"wren\"]\n");
  const Outcome changed = run_program(folder, "predict run --split train");
  CHECK(changed.exit_code == 1);
  CHECK_MESSAGE(contains(changed.err, "classes.json: the file is not what the run wrote, and predictions depend on it"),
                changed.err);
  fs::remove(folder / "run/classes.json");
  CHECK(contains(run_program(folder, "eval run --split train").err, "classes.json: the run's file is gone"));
  write_file(folder / "run/classes.json", classes);
  CHECK(run_program(folder, "predict run --split train").exit_code == 0);
}

}  // namespace
}  // namespace mirrortrain::testing::predict_test
