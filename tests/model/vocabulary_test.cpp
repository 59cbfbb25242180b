// The names of losses and metrics, what they are called elsewhere, and what they refuse.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "error_text.h"
#include "model/from_text.h"
#include "model/metrics.h"
#include "model/metrics/lower_is_better.h"

using namespace mirrortrain;

namespace {

/// The errors of a model of `outputs` outputs, a loss and metrics.
std::string errors_of(const std::string& loss, const std::string& metrics, int outputs = 3) {
  return build_from(fmt::format("model: {{input_shape: [4], layers: [dense: {{units: {}, activation: sigmoid}}]}}\n"
                                "loss: {}\nmetrics: {}\n",
                                outputs, loss, metrics))
      .errors;
}

}  // namespace

TEST_CASE("every metric knows whether more of it is better, as Keras does") {
  const std::set<std::string> higher = {"accuracy",
                                        "binary_accuracy",
                                        "categorical_accuracy",
                                        "sparse_categorical_accuracy",
                                        "top_k_accuracy",
                                        "top_k_categorical_accuracy",
                                        "sparse_top_k_categorical_accuracy",
                                        "cosine_similarity",
                                        "r2_score",
                                        "pearson_correlation",
                                        "concordance_correlation",
                                        "true_positives",
                                        "true_negatives",
                                        "precision",
                                        "recall",
                                        "precision_at_recall",
                                        "recall_at_precision",
                                        "sensitivity_at_specificity",
                                        "specificity_at_sensitivity",
                                        "f1_score",
                                        "fbeta_score",
                                        "auc",
                                        "binary_iou",
                                        "iou",
                                        "mean_iou",
                                        "one_hot_iou",
                                        "one_hot_mean_iou"};
  for (const config::Name& metric : config::names_of_choice<Metric>()) {
    CAPTURE(metric.text);
    CHECK(lower_is_better(metric.text) == !higher.contains(std::string(metric.text)));
    CHECK(lower_is_better("out_" + std::string(metric.text) + "_1") == !higher.contains(std::string(metric.text)));
  }
}

TEST_CASE("what Keras and PyTorch call losses and metrics leads to the names here") {
  for (const auto& [written, meant] : {std::pair("mape", "mean_absolute_percentage_error"),
                                       {"MSELoss", "mean_squared_error"},
                                       {"MeanSquaredLogarithmicError", "mean_squared_logarithmic_error"},
                                       {"FocalLoss", "binary_focal_crossentropy"},
                                       {"CategoricalFocalCrossentropy", "categorical_focal_crossentropy"},
                                       {"CategoricalGeneralizedCrossEntropy", "categorical_generalized_cross_entropy"},
                                       {"DiceLoss", "dice"},
                                       {"TverskyLoss", "tversky"},
                                       {"SquaredHinge", "squared_hinge"},
                                       {"MultiMarginLoss", "categorical_hinge"}}) {
    CHECK(contains(errors_of(written, "[]"), fmt::format("did you mean '{}'?", meant)));
  }
  for (const auto& [written, meant] : {std::pair("rmse", "root_mean_squared_error"),
                                       {"RootMeanSquaredError", "root_mean_squared_error"},
                                       {"mape", "mean_absolute_percentage_error"},
                                       {"TruePositives", "true_positives"},
                                       {"MeanIoU", "mean_iou"},
                                       {"OneHotIoU", "one_hot_iou"},
                                       {"FBetaScore", "fbeta_score"},
                                       {"Jaccard", "mean_iou"},
                                       {"BinaryAccuracy", "binary_accuracy"}}) {
    CHECK(contains(errors_of("mean_squared_error", fmt::format("[{}]", written)),
                   fmt::format("did you mean '{}'?", meant)));
  }
}

TEST_CASE("metrics of other labels than the loss's name the one that fits") {
  const auto of_classes = [](const std::string& metric) {
    return errors_of("sparse_categorical_crossentropy", "[" + metric + "]");
  };
  const auto of_numbers = [](const std::string& metric) {
    return errors_of("categorical_crossentropy", "[" + metric + "]");
  };
  CHECK(contains(of_classes("categorical_accuracy"), "use sparse_categorical_accuracy"));
  CHECK(contains(of_classes("binary_accuracy"), "use sparse_categorical_accuracy"));
  CHECK(contains(of_classes("categorical_crossentropy"), "use sparse_categorical_crossentropy"));
  CHECK(contains(of_classes("root_mean_squared_error"), "use accuracy"));
  CHECK(contains(of_classes("{one_hot_iou: {target_class_ids: [0]}}"), "use iou"));
  CHECK(contains(of_classes("one_hot_mean_iou"), "use mean_iou"));
  CHECK(contains(of_classes("pearson_correlation"), "use accuracy"));
  CHECK(contains(of_numbers("sparse_categorical_accuracy"), "use categorical_accuracy"));
  CHECK(contains(of_numbers("{sparse_top_k_categorical_accuracy: {k: 2}}"), "use top_k_categorical_accuracy"));
  CHECK(contains(of_numbers("sparse_categorical_crossentropy"), "use categorical_crossentropy"));
  CHECK(contains(of_numbers("{mean_iou: {sparse_y_true: true}}"), "write sparse_y_true: false"));
}

TEST_CASE("metrics refuse options that their output or other options do not allow") {
  const auto error = [](const std::string& metric, const std::string& text, int outputs = 3) {
    CAPTURE(metric);
    CHECK(contains(errors_of("binary_crossentropy", "[" + metric + "]", outputs), text));
  };
  error("{precision: {class_id: 3}}", "expected a `class_id` from 0 to 2");
  error("{recall: {top_k: 4}}", "expected a `top_k` of at most the output's 3 classes, found 4");
  error("{precision: {threshold: 0.5, thresholds: 0.5}}", "the same as `threshold`");
  error("{true_positives: {thresholds: [0.2, 0.4]}}", "- true_positives: {thresholds: 0.2}");
  error("{true_positives: {thresholds: 1.5}}", "expected a number from 0 to 1");
  error("{iou: {num_classes: 3, target_class_ids: [3]}}", "expected class numbers from 0 to 2, found 3");
  error("iou", "target_class_ids");
  error("mean_iou", "use binary_iou", 1);
  error("{binary_iou: {target_class_ids: [2]}}", "expected class numbers from 0 to 1");
  error("{auc: {num_labels: 3}}", "has no effect without `multi_label: true`");
  error("{auc: {multi_label: true, num_labels: 2}}", "expected `num_labels` as the output has, 3");
  error("{auc: {multi_label: true, label_weights: [1, 2]}}", "a weight for each of the output's 3 labels");
  error("precision_at_recall", "recall");
  error("pearson_correlation", "expected an output of 2 or more, found 1", 1);
  error("{cosine_similarity: {axis: 0}}", "bring it to the end");
  CHECK(contains(errors_of("hinge", "[auc]"), "auc needs probabilities, and hinge's outputs are none"));
  CHECK(contains(errors_of("squared_hinge", "[{precision_at_recall: {recall: 0.5}}]"),
                 "precision_at_recall needs probabilities, and squared_hinge's outputs are none"));
}

TEST_CASE("losses refuse options that their output does not allow") {
  const auto error = [](const std::string& loss, const std::string& text) {
    CAPTURE(loss);
    CHECK(contains(errors_of(loss, "[]"), text));
  };
  error("{type: dice, axis: 2}", "expected axes from 0, the batch, to 1");
  error("{type: tversky, axis: [1, -1]}", "the axis -1 is listed twice");
  error("{type: categorical_generalized_cross_entropy, q: 1}", "q");
  error("{type: categorical_crossentropy, axis: 1}", "expected -1, the last axis, found 1");
  error("{type: huber, reduction: average}", "reduction");
  error("{type: circle, margin: 2}", "margin");
  error("{type: ctc, label_length: 0}", "label_length");
}
