// Metrics of Keras's as those here with the same figures, and back: what an output is to them differs where the loss
// takes logits, or signs.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "config/codec.h"
#include "config/scalar.h"
#include "keras/reading/convert_metric.h"
#include "keras/writing/write_metric.h"

namespace {

using namespace mirrortrain;
using keras::Json;

const Loss kSigmoidLogits = losses::BinaryCrossentropy{.from_logits = true};
const Loss kProbabilities = losses::BinaryCrossentropy{};
const Loss kSoftmaxLogits = losses::CategoricalCrossentropy{.from_logits = true};
const Loss kNumbers = losses::SparseCategoricalCrossentropy{};
const Loss kSigns = losses::Hinge{};

Json metric(const char* name, Json options = Json::object()) {
  return {{"module", "keras.metrics"}, {"class_name", name}, {"config", std::move(options)}};
}

struct In {
  std::string metrics, changed, left_out;
};

/// What becomes of a metric of an output.
In in(const Json& given, const Loss& loss, std::int64_t width = 3) {
  keras::Problems problems;
  std::vector<std::string> changed, left_out;
  const config::Value value = keras::convert_metrics(
      Json::array({given}), {loss, width}, keras::OptionPlace{problems, "compiled metrics"}, {changed, left_out});
  CHECK(problems.empty());
  return {config::flow_text(value, 200), changed.empty() ? "" : changed[0], left_out.empty() ? "" : left_out[0]};
}

struct Out {
  Json written;
  std::string refused;
};

template <class Of>
Out out(const Of& of, const Loss& loss, std::int64_t width = 3) {
  keras::Problems problems;
  Json written = keras::metric_json(Metric(of), loss, width, "metrics", problems);
  return {std::move(written), problems.empty() ? "" : problems.lines()[0]};
}

}  // namespace

TEST_CASE("a threshold of logits is one of the probabilities of their sigmoid, the usual one too") {
  const char* const kUsual = "[{precision: {thresholds: 0.62245935}}]";
  CHECK(in(metric("Precision"), kSigmoidLogits).metrics == kUsual);
  CHECK(in(metric("Precision", {{"thresholds", 0.0}}), kSigmoidLogits).metrics == "[{precision: {thresholds: 0.5}}]");
  CHECK(in(metric("Precision", {{"top_k", 2}}), kSigmoidLogits).metrics == "[{precision: {top_k: 2}}]");
  CHECK(in(metric("TruePositives"), kSigmoidLogits).metrics == "[{true_positives: {thresholds: 0.62245935}}]");
  CHECK(in(metric("BinaryIoU"), kSigmoidLogits).metrics == "[{binary_iou: {threshold: 0.62245935}}]");
  CHECK(in(metric("F1Score"), kSigmoidLogits).metrics == "[f1_score]");
  CHECK(in(metric("F1Score", {{"threshold", 0.5}}), kSigmoidLogits).metrics == "[{f1_score: {threshold: 0.62245935}}]");
  CHECK(in(metric("Precision"), kSigmoidLogits).changed.find("compares logits with 0.5 in Keras") != std::string::npos);
  // Of probabilities nothing changes.
  CHECK(in(metric("Precision"), kProbabilities).metrics == "[precision]");
  CHECK(in(metric("Precision"), kProbabilities).changed.empty());
}

TEST_CASE("what no probability of a softmax is, is left out and said") {
  for (const Json& given :
       {metric("Precision"), metric("Recall", {{"thresholds", 0.0}}), metric("F1Score", {{"threshold", 0.5}}),
        metric("BinaryAccuracy"), metric("AUC", {{"from_logits", true}}), metric("AUC"), metric("KLDivergence"),
        metric("RecallAtPrecision", {{"precision", 0.5}})}) {
    CAPTURE(json_text(given));
    const In found = in(given, kSoftmaxLogits);
    CHECK(found.metrics == "[]");
    CHECK(found.left_out.find("was left out") != std::string::npos);
  }
  CHECK(in(metric("F1Score"), kSoftmaxLogits).metrics == "[f1_score]");
  CHECK(in(metric("Recall", {{"top_k", 1}}), kSoftmaxLogits).metrics == "[{recall: {top_k: 1}}]");
  CHECK(in("accuracy", kSoftmaxLogits).metrics == "[accuracy]");
}

TEST_CASE("the area under a curve of logits is that of a sigmoid if Keras's says so") {
  CHECK(in(metric("AUC", {{"from_logits", true}}), kSigmoidLogits).metrics == "[auc]");
  CHECK(in(metric("AUC", {{"from_logits", true}, {"thresholds", {0.25, 0.75}}}), kSigmoidLogits).metrics ==
        "[{auc: {thresholds: [0.25, 0.75]}}]");
  CHECK(in(metric("AUC"), kSigmoidLogits).left_out.find("write auc") != std::string::npos);
}

TEST_CASE("a crossentropy that takes logits for probabilities in Keras does here") {
  CHECK(in(metric("BinaryCrossentropy"), kSigmoidLogits).metrics == "[{binary_crossentropy: {from_logits: false}}]");
  CHECK(in(metric("BinaryCrossentropy", {{"from_logits", false}}), kSigmoidLogits).metrics ==
        "[{binary_crossentropy: {from_logits: false}}]");
  CHECK(in("binary_crossentropy", kSigmoidLogits).metrics == "[{binary_crossentropy: {from_logits: false}}]");
  CHECK(out(metrics::BinaryCrossentropy{{.from_logits = false}, 0}, kSigmoidLogits).written["config"] ==
        Json({{"from_logits", false}}));
  CHECK(out(metrics::BinaryCrossentropy{}, kSigmoidLogits).written["config"] == Json({{"from_logits", true}}));
}

TEST_CASE("accuracy is what Keras makes of it by the output's shape") {
  CHECK(in("accuracy", kProbabilities, 1).metrics == "[accuracy]");
  CHECK(in("accuracy", kProbabilities, 3).metrics == "[categorical_accuracy]");
  CHECK(in("acc", kSigmoidLogits, 3).metrics == "[categorical_accuracy]");
  CHECK(in("accuracy", kSigmoidLogits, 1).metrics == "[{binary_accuracy: {threshold: 0.62245935}}]");
  CHECK(in("accuracy", kNumbers, 3).metrics == "[accuracy]");
  CHECK(in("accuracy", kSigns, 1).left_out.find("its sign counts") != std::string::npos);
  CHECK(in(metric("Accuracy"), kNumbers, 3).left_out.find("write accuracy") != std::string::npos);
  CHECK(out(metrics::Accuracy{}, kProbabilities, 1).written == Json("accuracy"));
  CHECK(out(metrics::Accuracy{}, kNumbers, 3).written == Json("accuracy"));
  const Json of_each = out(metrics::Accuracy{}, kProbabilities, 3).written;
  CHECK(of_each["class_name"] == "BinaryAccuracy");
  CHECK(of_each["config"] == Json({{"threshold", 0.5}}));
  CHECK(out(metrics::Accuracy{}, kSigmoidLogits, 1).written["config"] == Json({{"threshold", 0.0}}));
  CHECK(out(metrics::Accuracy{}, kSigns, 1).refused.find("accuracy: it is that of signs") != std::string::npos);
}

TEST_CASE("accuracy above 0 is that of signs, which is what counts of hinge losses") {
  CHECK(in(metric("BinaryAccuracy", {{"threshold", 0.0}}), kSigns, 1).metrics == "[binary_accuracy]");
  CHECK(in(metric("BinaryAccuracy", {{"threshold", 0.25}}), kSigns, 1).left_out.find("with 0.25") != std::string::npos);
  CHECK(in(metric("Precision"), kSigns, 1).metrics == "[{precision: {thresholds: 0.5}}]");
}

TEST_CASE("a single output without a threshold is true to Keras's F scores, and not here") {
  CHECK(in(metric("F1Score"), kProbabilities, 1).metrics == "[{f1_score: {threshold: 0.0}}]");
  metrics::F1Score all_true;
  all_true.threshold = 0;
  CHECK(out(all_true, kSigmoidLogits, 1).written["config"] == Json({{"average", "macro"}}));
  CHECK(out(metrics::F1Score{}, kProbabilities, 1).written["config"] ==
        Json({{"average", "macro"}, {"threshold", 0.5}}));
  CHECK(out(metrics::F1Score{}, kProbabilities, 3).written["config"] == Json({{"average", "macro"}}));
}

TEST_CASE("thresholds of probabilities are written as those of logits where Keras takes these") {
  const auto precision = [](std::optional<double> threshold) {
    metrics::Precision one;
    one.threshold = threshold;
    return one;
  };
  CHECK(out(precision({}), kSigmoidLogits).written["config"] == Json({{"thresholds", 0.0}}));
  CHECK(out(precision(0.7), kSigmoidLogits).written["config"]["thresholds"].get<double>() ==
        doctest::Approx(0.8472978604));
  CHECK(
      out(precision(0.9), kSigmoidLogits).refused ==
      "metrics: precision: the threshold 0.9 is 2.197 of logits, which the loss takes, and Keras's is from 0 to 1, "
      "which are the probabilities from 0.5 to 0.731; leave it out of metrics in the run's config.yaml, as it changes "
      "no weight");
  CHECK(out(precision(0.9), kProbabilities).written["config"] == Json({{"thresholds", 0.9}}));
  metrics::F1Score score;
  score.threshold = 0.5;  // Keras's is above 0
  CHECK(out(score, kSigmoidLogits).written["config"] == Json({{"average", "macro"}, {"threshold", 1e-30}}));
  metrics::BinaryAccuracy sides;
  sides.threshold = 0.9;  // of which Keras takes any
  CHECK(out(sides, kSigmoidLogits).written["config"]["threshold"].get<double>() == doctest::Approx(2.1972245773));
  metrics::Precision of_largest;
  of_largest.top_k = 2;
  CHECK(out(of_largest, kSigmoidLogits).written["config"] == Json({{"top_k", 2}}));
  CHECK(out(of_largest, kSoftmaxLogits).written["config"] == Json({{"top_k", 2}}));
}

TEST_CASE("a metric whose figure Keras does not have is refused with the remedy") {
  const auto is_refused = [](const Out& found) {
    CHECK(found.written.is_null());
    CHECK(found.refused.find("leave it out of metrics in the run's config.yaml") != std::string::npos);
  };
  is_refused(out(metrics::Precision{}, kSoftmaxLogits));
  is_refused(out(metrics::Auc{}, kSoftmaxLogits));
  is_refused(out(metrics::KlDivergence{}, kSoftmaxLogits));
  is_refused(out(metrics::PrecisionAtRecall{{}, 0.5}, kSigmoidLogits));
  is_refused(out(metrics::Precision{}, kNumbers));
  is_refused(out(metrics::Precision{}, kSigns));
  CHECK(out(metrics::Auc{}, kSigmoidLogits).written["config"] == Json({{"from_logits", true}}));
  CHECK(out(metrics::Auc{}, kProbabilities).written["config"] == Json::object());
}
