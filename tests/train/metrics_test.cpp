#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstring>

#include "train/trainer.h"
#include "train/training.h"

using namespace mirrortrain;

namespace {

/// The untrained network of tests/golden/losses on its 21 examples.
Training network(const std::string& activation, const std::string& labels, const std::string& loss,
                 const std::string& metric, int replicas) {
  std::string devices;
  for (int i = 0; i < replicas; ++i) devices += fmt::format("{}cpu:{}", i > 0 ? ", " : "", i);
  const std::string folder = std::string(MIRRORTRAIN_SOURCE_DIR) + "/tests/golden/losses";
  return Training(fmt::format(R"(
data:
  global_batch_size: 8
  shuffle: false
  train: {{format: npy, features: {0}/features.npy, labels: {0}/{1}.npy}}
model:
  input_shape: [5]
  initial_weights: {0}/initial.safetensors
  layers:
    - dense: {{units: 6, activation: tanh}}
    - dense: {{units: 3, activation: {2}}}
loss: {3}
metrics: [{4}]
optimizer: sgd
strategy: {{devices: [{5}], threads_per_replica: 1}}
)",
                              folder, labels, activation, loss, metric, devices));
}

double value_of(const Training& training) {
  const StepSums sums = evaluate_all(*training.strategy, training.examples(), 8);
  return scores_of(sums, *training.checked.model).metrics.at(0).second;
}

struct Case {
  const char *activation, *labels, *metric;
  double expected;
};

// What tools/reference/keras_metrics.py prints.
constexpr Case kCases[] = {
    {"sigmoid", "truths", "precision", 0.387096763},
    {"sigmoid", "truths", "precision: {threshold: 0.3}", 0.491803288},
    {"sigmoid", "truths", "recall", 0.375},
    {"sigmoid", "truths", "auc", 0.322076619},
    {"sigmoid", "truths", "auc: {num_thresholds: 10}", 0.299395144},
    {"sigmoid", "truths", "auc: {num_thresholds: 2000}", 0.322076619},
    {"sigmoid", "truths", "auc: {curve: PR}", 0.413238406},
    {"sigmoid", "truths", "auc: {curve: PR, num_thresholds: 10}", 0.387642533},
    {"softmax", "one_hot", "auc: {num_thresholds: 2000}", 0.320294797},
    {"softmax", "one_hot", "auc: {curve: PR}", 0.24594149},
    {"softmax", "one_hot", "auc: {curve: PR, num_thresholds: 10}", 0.248223022},
    {"sigmoid", "truths", "f1_score", 0.284313679},
    {"sigmoid", "truths", "f1_score: {average: micro}", 0.339622587},
    {"sigmoid", "truths", "f1_score: {average: weighted}", 0.271139681},
    {"sigmoid", "truths", "f1_score: {threshold: 0.4}", 0.435836554},
    {"softmax", "one_hot", "precision", 0.230769232},
    {"softmax", "one_hot", "precision: {threshold: 0.3}", 0.193548381},
    {"softmax", "one_hot", "recall", 0.142857149},
    {"softmax", "one_hot", "auc", 0.320294797},
    {"softmax", "one_hot", "auc: {num_thresholds: 10}", 0.328231275},
    {"softmax", "one_hot", "f1_score", 0.190476134},
    {"softmax", "one_hot", "f1_score: {average: micro}", 0.238095194},
    {"softmax", "one_hot", "f1_score: {average: weighted}", 0.190476149},
    {"softmax", "one_hot", "f1_score: {threshold: 0.4}", 0.177777752},
    {"softmax", "one_hot", "mean_iou: {num_classes: 3}", 0.111111112},
    {"linear", "numbers", "r2_score", -0.1774358},
};

}  // namespace

TEST_CASE("metrics that are no means are Keras's over the whole set, on any number of replicas") {
  for (const Case& test : kCases) {
    const bool is_softmax = std::strcmp(test.activation, "softmax") == 0;
    const std::string loss = is_softmax                                     ? "categorical_crossentropy"
                             : std::strcmp(test.activation, "sigmoid") == 0 ? "binary_crossentropy"
                                                                            : "mean_squared_error";
    CAPTURE(test.activation);
    CAPTURE(test.metric);
    for (const int replicas : {1, 2, 3}) {
      CHECK(value_of(network(test.activation, test.labels, loss, test.metric, replicas)) ==
            doctest::Approx(test.expected).epsilon(2e-6));
    }
    if (std::strcmp(test.activation, "linear") == 0) continue;
    // Logits count as the probabilities that they stand for, class numbers as one for their class.
    const std::string logits = fmt::format("{{type: {}, from_logits: true}}", loss);
    CHECK(value_of(network("linear", test.labels, logits, test.metric, 1)) ==
          doctest::Approx(test.expected).epsilon(2e-6));
    if (!is_softmax) continue;
    CHECK(value_of(network("softmax", "classes", "sparse_categorical_crossentropy", test.metric, 2)) ==
          doctest::Approx(test.expected).epsilon(2e-6));
  }
}

namespace {

/// The metric of outputs that are the features.
double metric_of(const std::string& metric, const std::string& rows) {
  const Training training(fmt::format(R"(
data:
  global_batch_size: 8
  train: {{format: inline, features: {0}, labels: {1}}}
model:
  input_shape: [1]
  layers: [dense: {{units: 1, use_bias: false, kernel_initializer: ones}}]
loss: mean_squared_error
metrics: [{2}]
optimizer: sgd
strategy: {{devices: [cpu:0], threads_per_replica: 1}}
)",
                                      rows.substr(0, rows.find('|')), rows.substr(rows.find('|') + 1), metric));
  return value_of(training);
}

}  // namespace

TEST_CASE("outputs that are no probabilities still have their place on the curve") {
  CHECK(metric_of("auc", "[[-0.5], [0.9], [-0.7], [0.95]] | [[0], [1], [0], [1]]") == doctest::Approx(1));
  CHECK(metric_of("auc", "[[-0.5], [-0.9], [0.7], [1.5]] | [[1], [0], [0], [1]]") == doctest::Approx(0.625));
}

TEST_CASE("labels that are all the same have an r2_score of 0") {
  CHECK(metric_of("r2_score",
                  "[[0], [1], [2], [1], [5], [6], [7]] | [[0.3], [0.3], [0.3], [0.3], [0.3], [0.3], [0.3]]") == 0);
}
