// Features that preprocessing brings to a scale that hardly trains, numbers of words, and accuracies of nothing.
#include <doctest/doctest.h>

#include <fstream>

#include "error_text.h"
#include "train/session/check_configuration.h"
#include "train/session/said_before_training.h"
#include "train/warnings/new_scale.h"

namespace mirrortrain {
namespace {

std::string bytes(const std::string& preprocessing, int largest = 255) {
  return fmt::format(R"(
data:
  global_batch_size: 4
  train: {{format: inline, features: {}, labels: {}}}
  preprocessing: {}
model: {{input_shape: [2, 2], layers: [flatten, dense: {{units: 2}}]}}
loss: {{type: sparse_categorical_crossentropy, from_logits: true}}
optimizer: sgd
training: {{epochs: 1}}
)",
                     flow_list(12,
                               [&](int i) {
                                 return fmt::format("[[{}, {}], [{}, {}]]", largest * (i % 2), largest * (i % 3) / 3,
                                                    largest * (i % 5) / 5, largest * (i % 4) / 4);
                               }),
                     flow_list(12, [](int i) { return fmt::format("{}", i % 2); }), preprocessing);
}

TEST_CASE("a normalization by the numbers of other data is warned of") {
  const std::string given = said_before_training(bytes("[normalization: {mean: 0.5, variance: 0.25}]"));
  CHECK_MESSAGE(contains(given,
                         "data.preprocessing[0].normalization.mean: features go from 0 to 255 in the file and from -1 "
                         "to 509 after normalization, which is given the mean and the variance of other numbers; put "
                         "rescaling: {scale: 0.00392156862745098} before it, or write normalization: {adapt: true} in "
                         "its place"),
                given);
  const std::string of_bytes = said_before_training(bytes("[normalization: {mean: 127, variance: 5000}]", 1));
  CHECK_MESSAGE(contains(of_bytes, "after normalization, which is given the mean"), of_bytes);
  CHECK(said_before_training(bytes("[normalization: {mean: 127, variance: 5000}]")) == "");
  CHECK(said_before_training(bytes("[rescaling: {scale: 0.00392156862745098}, normalization: {mean: 0.5, variance: "
                                   "0.25}]")) == "");
}

TEST_CASE("features far from 0 are to be scaled: bytes as such, whatever the largest is, and others by what they are") {
  const std::string add = "networks train best with features around 1: add ";
  const std::string of_bytes = "rescaling: {scale: 0.00392156862745098} to data.preprocessing";
  for (const int largest : {255, 219}) {
    const std::string said = said_before_training(bytes("[]", largest));
    CHECK_MESSAGE(contains(said, fmt::format("features reach {}; {}{}", largest, add, of_bytes)), said);
  }
  CHECK(said_before_training(bytes("[rescaling: {scale: 0.00392156862745098}]", 219)) == "");
  const std::string twice = said_before_training(bytes("[rescaling: {scale: 2}]", 219));
  CHECK_MESSAGE(contains(twice,
                         "features reach 438 after rescaling; networks train best with features around 1: write "
                         "rescaling: {scale: 0.00392156862745098} in place of rescaling in data.preprocessing"),
                twice);
  // Measured numbers.
  std::string measured = bytes("[]", 219);
  const std::string first = "[[[0, 0]";
  REQUIRE(contains(measured, first));
  measured.replace(measured.find(first), first.size(), "[[[0.25, 0]");
  const std::string of_measured = said_before_training(measured);
  CHECK_MESSAGE(contains(of_measured, add + "normalization: {adapt: true} to data.preprocessing"), of_measured);
  CHECK(said_before_training(measured, {"data.preprocessing=[normalization: {adapt: true}]"}) == "");
  const std::string large = said_before_training(bytes("[]", 2190));
  CHECK_MESSAGE(contains(large, add + "normalization: {adapt: true} to data.preprocessing"), large);
}

TEST_CASE("bytes that are rescaled twice are warned of") {
  const std::string once = "rescaling: {scale: 0.0039}";
  const std::string twice = said_before_training(bytes(fmt::format("[{}, {}]", once, once)));
  CHECK_MESSAGE(contains(twice, "features reach 255 in the file and only 0.0039 after 2 rescalings"), twice);
  CHECK(said_before_training(bytes(fmt::format("[{}]", once))) == "");
}

std::string table(const std::string& file, const std::string& options) {
  return fmt::format(R"(
data:
  global_batch_size: 8
  train: {{format: csv, file: {}, labels: bought{}}}
  preprocessing: [normalization: {{adapt: true}}]
model: {{input_shape: [2], layers: [dense: {{units: 2}}]}}
loss: {{type: sparse_categorical_crossentropy, from_logits: true}}
metrics: [accuracy]
optimizer: sgd
training: {{epochs: 1}}
)",
                     file, options);
}

TEST_CASE("numbers of words that are multiplied are warned of") {
  const TemporaryFolder folder;
  const std::string file = folder / "people.csv";
  std::ofstream written(file);
  written << "age,city,bought\n";
  for (int i = 0; i < 40; ++i)
    written << fmt::format("{},{},{}\n", 20 + i * 7 % 31,
                           i % 3 == 0   ? "Rome"
                           : i % 3 == 1 ? "Oslo"
                                        : "Bern",
                           i * 5 % 11 % 2);
  written.close();
  for (const char* const encoding : {"index", "{hash: {bins: 100}}", "{hashing: {num_bins: 100}}"}) {
    CAPTURE(encoding);
    const std::string said = said_before_training(table(file, fmt::format(", encoding: {{city: {}}}", encoding)));
    CHECK_MESSAGE(contains(said, "data.train: column 1 ('city') is read as the number of a word"), said);
  }
  const std::string listed = ", encoding: {city: {index: {words: [Bern, Oslo, Rome]}}}";
  CHECK(said_before_training(table(file, listed)) == "");  // an order that was chosen
  CHECK(said_before_training(table(file, ", encoding: {city: one_hot}"), {"model.input_shape=[4]"}) == "");
}

TEST_CASE("the accuracy of always answering one class is said where it is the only metric") {
  const TemporaryFolder folder;
  const std::string file = folder / "rare.csv";
  std::ofstream written(file);
  written << "a,b,bought\n";
  for (int i = 0; i < 100; ++i)
    written << fmt::format("{},{},{}\n", i * 7 % 31 + 0.5, i * 5 % 17 + 0.5, i % 20 == 0 ? 1 : 0);
  written.close();
  const std::string said = said_before_training(table(file, ""));
  CHECK_MESSAGE(contains(said,
                         "metrics[0].accuracy: 95 of 100 training examples are of class 0, so that a model that always "
                         "answers this has an accuracy of 0.95; add"),
                said);
  CHECK(contains(said, "add precision, recall or f1_score, and see class_weight: balanced of the loss"));
  for (const auto& [options, changes] :
       {std::pair(std::string(), std::vector<std::string>{"loss=hinge", "model.layers=[{dense: {units: 1}}]"}),
        std::pair(std::string(", weights: b"), std::vector<std::string>{"model.input_shape=[1]"})}) {
    const std::string without = said_before_training(table(file, options), changes);  // class_weight would be refused
    CHECK_MESSAGE(contains(without, "add precision, recall or f1_score\n"), without);
  }
  CHECK(said_before_training(table(file, ""), {"metrics=[accuracy, f1_score]"}) == "");
  CHECK(said_before_training(table(file, ""), {"loss.class_weight=balanced"}) == "");
}

TEST_CASE("new data in another unit than the training data are noticed") {
  const TemporaryFolder folder;
  const auto file = folder / "m.yaml";
  std::ofstream(file) << bytes("[normalization: {adapt: true}]");
  const CheckedConfiguration checked = check_configuration(file.string(), {});
  Run run;
  load_feeders(checked, {}, run);
  const auto said_of = [&](int largest) {
    const auto other = folder / "other.yaml";
    std::ofstream(other) << bytes("[]", largest);
    const CheckedConfiguration examples = check_configuration(other.string(), {});
    Run read;
    load_feeders(examples, {}, read);
    NewScale scale(checked, &run.adapted);
    scale.add(read.train->dataset());
    return scale.text();
  };
  CHECK(said_of(255) == "");
  CHECK(said_of(2550) == "");
  const std::string large = said_of(255'000);
  CHECK_MESSAGE(contains(large, "a feature reaches 255000, and in the training data it is around"), large);
  CHECK(contains(said_of(1), "as if they were in another unit; write both in one"));
}

TEST_CASE("without a normalization, new data are compared with the largest numbers of the training data") {
  const TemporaryFolder folder;
  const auto read = [&](int largest, const std::string& preprocessing) {
    const auto file = folder / fmt::format("{}.yaml", largest);
    std::ofstream(file) << bytes(preprocessing, largest);
    return check_configuration(file.string(), {});
  };
  const CheckedConfiguration trained = read(20, "[rescaling: {scale: 0.05}]");
  const auto examples_of = [](const CheckedConfiguration& checked, Run& run) -> const data::Dataset& {
    load_feeders(checked, {}, run);
    return run.train->dataset();
  };
  Run of_training;
  const FeatureSizes sizes = feature_sizes(trained, examples_of(trained, of_training));
  CHECK(sizes == FeatureSizes{{20, 15}});
  const auto said_of = [&](int largest, const FeatureSizes& known) {
    Run run;
    NewScale scale(trained, nullptr, known);
    scale.add(examples_of(read(largest, "[]"), run));
    return scale.text();
  };
  CHECK(said_of(20, sizes) == "");
  CHECK(said_of(200, sizes) == "");
  const std::string large = said_of(2000, sizes);
  CHECK_MESSAGE(contains(large, "a feature reaches 1500, and in the training data it reaches 1"), large);
  CHECK(said_of(2000, {}) == "");
  const std::string small = said_of(2, {{200, 200}});
  CHECK_MESSAGE(contains(small, "features reach 2, and those of the training data reach 200, as if they were"), small);
}

}  // namespace
}  // namespace mirrortrain
