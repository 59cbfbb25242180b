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

struct CaseOfLoss {
  const char *activation, *labels, *loss, *metric;
  double expected;
};

// What tools/reference/keras_metrics.py prints, as its second table.
constexpr CaseOfLoss kOfLosses[] = {
    {"sigmoid", "truths", "binary_crossentropy", "binary_crossentropy", 0.821361423},
    {"sigmoid", "truths", "binary_crossentropy", "binary_crossentropy: {label_smoothing: 0.2}", 0.80368948},
    {"sigmoid", "truths", "binary_crossentropy", "binary_accuracy", 0.380952388},
    {"sigmoid", "truths", "binary_crossentropy", "binary_accuracy: {threshold: 0.3}", 0.476190478},
    {"sigmoid", "truths", "binary_crossentropy", "true_positives", 12},
    {"sigmoid", "truths", "binary_crossentropy", "true_negatives: {thresholds: 0.4}", 5},
    {"sigmoid", "truths", "binary_crossentropy", "false_positives: {thresholds: [0.3]}", 31},
    {"sigmoid", "truths", "binary_crossentropy", "false_negatives", 20},
    {"sigmoid", "truths", "binary_crossentropy", "precision: {class_id: 1}", 0.5},
    {"sigmoid", "truths", "binary_crossentropy", "precision: {top_k: 1}", 0.428571433},
    {"sigmoid", "truths", "binary_crossentropy", "precision: {top_k: 2, thresholds: 0.5}", 0.366666675},
    {"sigmoid", "truths", "binary_crossentropy", "recall: {class_id: 2, thresholds: 0.4}", 0.555555582},
    {"sigmoid", "truths", "binary_crossentropy", "recall: {top_k: 2}", 0.53125},
    {"sigmoid", "truths", "binary_crossentropy", "recall: {top_k: 2, class_id: 0}", 0.333333343},
    {"sigmoid", "truths", "binary_crossentropy", "precision_at_recall: {recall: 0.6}", 0.507936537},
    {"sigmoid", "truths", "binary_crossentropy", "precision_at_recall: {recall: 0.5, num_thresholds: 7, class_id: 1}",
     0.523809552},
    {"sigmoid", "truths", "binary_crossentropy", "recall_at_precision: {precision: 0.45}", 1},
    {"sigmoid", "truths", "binary_crossentropy", "recall_at_precision: {precision: 0.99}", 0},
    {"sigmoid", "truths", "binary_crossentropy", "sensitivity_at_specificity: {specificity: 0.3}", 0.40625},
    {"sigmoid", "truths", "binary_crossentropy", "sensitivity_at_specificity: {specificity: 0.3, num_thresholds: 1}",
     0.375},
    {"sigmoid", "truths", "binary_crossentropy", "specificity_at_sensitivity: {sensitivity: 0.7}", 0.129032254},
    {"sigmoid", "truths", "binary_crossentropy", "auc: {summation_method: minoring}", 0.318548381},
    {"sigmoid", "truths", "binary_crossentropy", "auc: {summation_method: majoring, num_thresholds: 9}", 0.478830665},
    {"sigmoid", "truths", "binary_crossentropy", "auc: {curve: PR, summation_method: minoring}", 0.389864862},
    {"sigmoid", "truths", "binary_crossentropy", "auc: {curve: PR, summation_method: majoring}", 0.431848586},
    {"sigmoid", "truths", "binary_crossentropy", "auc: {curve: PRGAIN}", -0.297013253},
    {"sigmoid", "truths", "binary_crossentropy", "auc: {curve: PRGAIN, summation_method: majoring}", -0.255317003},
    {"sigmoid", "truths", "binary_crossentropy", "auc: {thresholds: [0.7, 0.2, 0.45]}", 0.3125},
    {"sigmoid", "truths", "binary_crossentropy", "auc: {multi_label: true, num_labels: 3}", 0.320033669},
    {"sigmoid", "truths", "binary_crossentropy", "auc: {multi_label: true, label_weights: [1, 2, 0.5]}", 0.336988956},
    {"sigmoid", "truths", "binary_crossentropy", "auc: {multi_label: true, curve: PR, label_weights: [1, 2, 0.5]}",
     0.483448297},
    {"sigmoid", "truths", "binary_crossentropy", "auc: {label_weights: [1, 2, 0.5]}", 0.333024144},
    {"sigmoid", "truths", "binary_crossentropy", "fbeta_score: {beta: 2.0, threshold: 0.4}", 0.490968794},
    {"sigmoid", "truths", "binary_crossentropy", "fbeta_score: {beta: 0.5, average: micro}", 0.38793093},
    {"sigmoid", "truths", "binary_crossentropy", "fbeta_score: {beta: 0.5, average: weighted}", 0.266586781},
    {"sigmoid", "truths", "binary_crossentropy", "binary_iou", 0.235294119},
    {"sigmoid", "truths", "binary_crossentropy", "binary_iou: {target_class_ids: [1], threshold: 0.4}", 0.293103427},
    {"sigmoid", "truths", "binary_crossentropy", "hinge", 1.03445506},
    {"sigmoid", "truths", "binary_crossentropy", "squared_hinge", 1.33743155},
    {"softmax", "one_hot", "categorical_crossentropy", "categorical_crossentropy", 1.49003005},
    {"softmax", "one_hot", "categorical_crossentropy", "categorical_crossentropy: {label_smoothing: 0.1}", 1.46559966},
    {"softmax", "one_hot", "categorical_crossentropy", "categorical_hinge", 1.22900808},
    {"softmax", "one_hot", "categorical_crossentropy", "kl_divergence", 1.49002707},
    {"softmax", "one_hot", "categorical_crossentropy", "categorical_accuracy", 0.238095239},
    {"softmax", "one_hot", "categorical_crossentropy", "top_k_categorical_accuracy: {k: 2}", 0.476190478},
    {"softmax", "one_hot", "categorical_crossentropy", "one_hot_iou: {num_classes: 3, target_class_ids: [0, 2]}",
     0.0833333358},
    {"softmax", "one_hot", "categorical_crossentropy", "one_hot_mean_iou: {num_classes: 3}", 0.111111112},
    {"softmax", "one_hot", "categorical_crossentropy", "one_hot_mean_iou: {num_classes: 3, ignore_class: 1}",
     0.095238097},
    {"softmax", "one_hot", "categorical_crossentropy",
     "iou: {num_classes: 3, target_class_ids: [1], sparse_y_true: false, sparse_y_pred: false}", 0.166666657},
    {"softmax", "classes", "sparse_categorical_crossentropy", "sparse_categorical_crossentropy", 1.49003005},
    {"softmax", "classes", "sparse_categorical_crossentropy", "sparse_categorical_crossentropy: {ignore_class: 1}",
     0.977095544},
    {"softmax", "classes", "sparse_categorical_crossentropy", "sparse_categorical_accuracy", 0.238095239},
    {"softmax", "classes", "sparse_categorical_crossentropy", "sparse_top_k_categorical_accuracy: {k: 2}", 0.476190478},
    {"softmax", "classes", "sparse_categorical_crossentropy", "iou: {num_classes: 3, target_class_ids: [0, 1]}",
     0.0833333358},
    {"softmax", "classes", "sparse_categorical_crossentropy", "mean_iou: {num_classes: 3, ignore_class: 2}",
     0.0714285746},
    {"linear", "numbers", "mean_squared_error", "root_mean_squared_error", 3.46579814},
    {"linear", "numbers", "mean_squared_error", "log_cosh_error", 2.20588613},
    {"linear", "numbers", "mean_squared_error", "mean_absolute_percentage_error", 134.74791},
    {"linear", "numbers", "mean_squared_error", "mean_squared_logarithmic_error", 0.765233874},
    {"linear", "numbers", "mean_squared_error", "cosine_similarity", -0.349649072},
    {"linear", "numbers", "mean_squared_error", "pearson_correlation", -0.358759165},
    {"linear", "numbers", "mean_squared_error", "concordance_correlation", -0.117092177},
    {"linear", "numbers", "mean_squared_error", "r2_score: {class_aggregation: variance_weighted_average}",
     -0.162717953},
    {"linear", "numbers", "mean_squared_error", "r2_score: {num_regressors: 5}", -0.280719519},
    {"exponential", "counts", "poisson", "poisson", 1.78542113},
};

// What it prints before.
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

TEST_CASE("each metric of Keras's for its kind of labels is Keras's over the whole set, on any number of replicas") {
  for (const CaseOfLoss& test : kOfLosses) {
    CAPTURE(test.activation);
    CAPTURE(test.metric);
    for (const int replicas : {1, 2, 3}) {
      CHECK(value_of(network(test.activation, test.labels, test.loss, test.metric, replicas)) ==
            doctest::Approx(test.expected).epsilon(4e-6));
    }
  }
}

TEST_CASE("metrics of probabilities read those that logits stand for") {
  const std::string binary = "{type: binary_crossentropy, from_logits: true}",
                    sparse = "{type: sparse_categorical_crossentropy, from_logits: true}";
  for (const CaseOfLoss& test : kOfLosses) {
    const std::string metric = test.metric, loss = test.loss;
    const bool of_sigmoid = loss == "binary_crossentropy" && metric.find("hinge") == metric.npos;
    if (!of_sigmoid && loss != "sparse_categorical_crossentropy") continue;
    CAPTURE(metric);
    CHECK(value_of(network("linear", test.labels, of_sigmoid ? binary : sparse, metric, 2)) ==
          doctest::Approx(test.expected).epsilon(4e-6));
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
