// How much classes and examples count.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "base/files.h"
#include "error_text.h"
#include "train/checkpoint/checkpoint.h"
#include "train/session/check_configuration.h"
#include "train/training.h"
#include "train/verify.h"
#include "train/verify_replicas.h"

namespace mirrortrain {
namespace {

/// The errors of kMlp with another loss.
std::string errors_with(const std::string& class_weight, const std::vector<std::string>& more = {}) {
  TemporaryFolder folder;
  write_file(folder / "a.yaml", kMlp);
  std::vector<std::string> overrides = {
      "loss={type: sparse_categorical_crossentropy, from_logits: true, class_weight: " + class_weight + "}"};
  overrides.insert(overrides.end(), more.begin(), more.end());
  config::Errors errors;
  look_at_configuration((folder / "a.yaml").string(), overrides, errors);
  return errors.text();
}

TEST_CASE("weights of classes that do not exist, or that are no weights, are errors at their place") {
  CHECK(contains(errors_with("{0: 1, 3: 2}"),
                 "--set loss: loss.class_weight: expected class numbers from 0 to 2, found '3'; classes count from 0"));
  CHECK(contains(errors_with("{cat: 1}"), "expected class numbers from 0 to 2, found 'cat'"));
  CHECK(contains(errors_with("{-1: 1}"), "found '-1'"));
  CHECK(contains(errors_with("{0: -1}"), "loss.class_weight.0: "));
  CHECK(contains(errors_with("{0: .nan}"), "loss.class_weight.0: "));
  CHECK(contains(errors_with("{0: .inf}"), "loss.class_weight.0: "));
  CHECK(contains(errors_with("{0: heavy}"), "loss.class_weight.0: "));
  CHECK(contains(errors_with("{0: 1, 00: 2}"), "the class 0 is listed twice"));
  CHECK(contains(errors_with("2"), "loss.class_weight: expected a mapping"));
  CHECK(errors_with("{0: 0, 2: 5}") == config::Errors().text());
}

TEST_CASE("weights of classes beside those of the examples are refused") {
  CHECK(contains(errors_with("{0: 2}", {"data.train={format: csv, file: a.csv, labels: y, weights: w}"}),
                 "loss.class_weight: the examples of data.train have weights of their own; remove class_weight or "
                 "data.train.weights"));
}

TEST_CASE("weights of classes count in training alone, and not in metrics") {
  const std::string loss = "loss={type: sparse_categorical_crossentropy, from_logits: true, class_weight: ";
  const std::string layers = "model.layers=[{dense: {units: 7, activation: tanh}}, {dense: {units: 3}}]";
  Training tripled(kMlp, {layers, loss + "{0: 3, 1: 3, 2: 3}}"});
  CHECK(tripled.steps(1)[0] == doctest::Approx(3 * Training(kMlp, {layers}).steps(1)[0]).epsilon(1e-6));
  Training plain(kMlp, {"metrics=[accuracy]"});
  Training other(kMlp, {"metrics=[accuracy]", loss + "{0: 3}}"});
  const StepSums expected = evaluate_all(*Training(kMlp, {"metrics=[accuracy]"}).strategy, plain.examples(), 10);
  const StepSums found = evaluate_all(*other.strategy, other.examples(), 10);
  CHECK(found.loss == expected.loss);
  CHECK(found.metrics == expected.metrics);
}

TEST_CASE("balanced weights of classes are those that their counts give") {
  CHECK(contains(errors_with("balance"), "loss.class_weight: expected one of balanced, found the text 'balance'"));
  CHECK(contains(errors_with("[1, 2, 3]"), "or balanced, found the list [1, 2, 3]; write {0: 1, 1: 2, 2: 3}"));
  const std::string loss = "loss={type: sparse_categorical_crossentropy, from_logits: true, class_weight: ";
  const std::string data =
      "data.train={format: inline, features: [[1, 2, 3, 4], [2, 1, 0, 1], [3, 1, 4, 1], [0, 0, 1, 0], [1, 1, 1, 1], "
      "[2, 7, 1, 8]], labels: [1, 1, 1, 1, 0, 0]}";
  const std::vector<std::string> common = {data, "model.input_shape=[4]", "data.preprocessing=[]"};
  const auto losses = [&](const std::string& weights) {
    std::vector<std::string> overrides = common;
    overrides.push_back(loss + weights + "}");
    Training training(kMlp, overrides);
    return training.steps(3);
  };
  CHECK(losses("balanced") == losses("{0: 1.5, 1: 0.75}"));  // 6 / (2 x 2), 6 / (2 x 4)
  CHECK(losses("balanced") != losses("{}"));
}

/// A table of two features, with `weight` as the last row's weight.
struct Table {
  TemporaryFolder folder;
  explicit Table(const std::string& weight, int examples = 12) {
    std::string rows = "a,b,w,y\n";
    for (int i = 1; i < examples; ++i) rows += fmt::format("{},{},{},{}\n", i % 5, i % 3, i % 4, i % 3);
    write_file(folder / "a.csv", rows + "1,2," + weight + ",0\n");
  }
  std::vector<std::string> overrides() const {
    return {fmt::format("data.train={{format: csv, file: {}, labels: y, weights: w}}", (folder / "a.csv").string()),
            "model.input_shape=[2]"};
  }
};

TEST_CASE("a weight that is no number from 0 is an error with file and row") {
  for (const char* weight : {"-1", "nan", "inf", "", "heavy"}) {
    CAPTURE(weight);
    const Table table(weight);
    const std::string error = error_text([&] { Training(kMlp, table.overrides()); });
    CHECK(contains(error, "a.csv:13: row 11 (counting from 0), column 2 ('w'): expected a weight"));
    CHECK(contains(error, *weight == 0 ? "found an empty cell; fill it in or remove the row"
                                       : fmt::format("which is a number from 0, found '{}'", weight)));
  }
  const Table table("1");
  std::vector<std::string> overrides = table.overrides();
  overrides[0] = fmt::format("data.train={{format: csv, file: {}, labels: y, weights: weight}}",
                             (table.folder / "a.csv").string());
  CHECK(contains(error_text([&] { Training(kMlp, overrides); }),
                 "there is no column 'weight' in the header for 'weights'; the columns are a, b, w, y"));
}

TEST_CASE("weights leave any number of replicas with the same training, accumulated or with statistics of all") {
  const Table table("2.5", 23);
  std::vector<std::string> of_classes = {
      "loss={type: sparse_categorical_crossentropy, from_logits: true, class_weight: {0: 4, 2: 0.25}}"};
  for (const std::vector<std::string>& weighted : {of_classes, table.overrides()}) {
    for (const char* gradients : {"{}", "{accumulate_steps: 2}", "{clip_norm: 0.1}"}) {
      CAPTURE(gradients);
      std::vector<std::string> overrides = weighted;
      overrides.push_back(fmt::format("gradients={}", gradients));
      overrides.push_back(
          "model.layers=[{dense: {units: 7, activation: tanh}}, {batch_normalization: {synchronized: "
          "true}}, {dense: {units: 3}}]");
      const Training training(kMlp, overrides);
      CHECK(verify_replicas(training.checked, {2, 3, 16}, 6).largest() < 2e-5);
    }
  }
}

TEST_CASE("a weight multiplies what an example gives the gradient: 2 is the example twice, 0 is without it") {
  // The loss is divided by the examples, so as many rows of weight 0 keep the number.
  const auto trained = [](const std::string& rows) {
    const TemporaryFolder folder;
    write_file(folder / "a.csv", "a,b,w,y\n" + rows);
    Training training(
        kMlp, {fmt::format("data.train={{format: csv, file: {}, labels: y, weights: w}}", (folder / "a.csv").string()),
               "data.global_batch_size=4", "model.input_shape=[2]", "strategy.devices=[cpu:0]"});
    training.steps(3);
    return training.variables();
  };
  const auto twice = trained("1,2,1,0\n1,2,1,0\n-1,0.5,1,2\n3,3,0,1\n");
  CHECK(difference(trained("1,2,2,0\n-1,0.5,1,2\n-7,2,0,0\n5,9,0,1\n"), twice) < 1e-6);
  CHECK(difference(trained("1,2,1,0\n-1,0.5,1,2\n-7,2,0,0\n5,9,0,1\n"), twice) > 1e-2);
}

TEST_CASE("a run with weights resumes exactly") {
  const Table table("2.5", 23);
  std::vector<std::string> overrides = table.overrides();
  overrides.emplace_back("gradients.accumulate_steps=2");
  Training whole(kMlp, overrides), first(kMlp, overrides), second(kMlp, overrides);
  const auto losses = whole.steps(8);
  const auto checkpoints = [&](const Training& training) {
    return Checkpoints(first.folder(), *training.strategy,
                       {training.checked.model->slot_names(), training.checked.model->metric_sum_names()}, {});
  };
  first.steps(5);
  checkpoints(first).save(first.state, 1);
  second.seek(checkpoints(second).restore().value());
  CHECK(second.steps(3) == std::vector(losses.begin() + 5, losses.end()));
  CHECK(second.variables() == whole.variables());
}

TEST_CASE("weighted examples train alike on one, two and three replicas, and count in evaluation") {
  const Table table("2.5", 23);  // the last batch has three examples
  std::vector<double> one;
  for (const char* devices : {"[cpu:0]", "[cpu:0,cpu:1]", "[cpu:0,cpu:1,cpu:2]"}) {
    CAPTURE(devices);
    std::vector<std::string> overrides = table.overrides();
    overrides.push_back(fmt::format("strategy.devices={}", devices));
    Training training(kMlp, overrides);
    std::vector<double> losses = training.steps(6);
    losses.push_back(evaluate_all(*training.strategy, training.examples(), 10).loss);
    if (one.empty()) one = losses;
    for (std::size_t i = 0; i < one.size(); ++i) CHECK(losses[i] == doctest::Approx(one[i]).epsilon(1e-5));
    overrides[0].replace(overrides[0].find(", weights: w"), 12, "");
    Training plain(kMlp, {overrides[0], "model.input_shape=[3]"});
    CHECK(plain.steps(1)[0] != doctest::Approx(one[0]));
  }
}

}  // namespace
}  // namespace mirrortrain
