#include "model/metrics/accuracy.h"

#include <fmt/format.h>

#include "base/error.h"
#include "model/metrics/labels.h"

namespace mirrortrain::metrics {

namespace {

ops::Metric accuracy_for(const Loss& loss, const Shape& output) {
  if (ops::is_binary(loss_op(loss).kind)) {
    return ops::Metric(ops::MetricKind::kBinaryAccuracy, takes_logits(loss) ? 0.0f : 0.5f);
  }
  switch (targets_of(loss)) {
    case Targets::kClassNumbers: return ops::Metric(ops::MetricKind::kSparseCategoricalAccuracy);
    case Targets::kSigns: return ops::Metric(ops::MetricKind::kSignAccuracy);
    default: break;
  }
  const bool of_classes = loss_op(loss).kind == ops::LossKind::kCategoricalCrossentropy || output.back() != 1;
  return ops::Metric(of_classes ? ops::MetricKind::kCategoricalAccuracy : ops::MetricKind::kBinaryAccuracy);
}

MetricNode top_k(ops::MetricKind kind, std::int64_t k, const Shape& output) {
  if (output.back() <= k) {
    throw Error(
        fmt::format("expected an output of more than {} classes, found {}: every label would count; use a "
                    "smaller `k`, or accuracy",
                    k, output.back()));
  }
  ops::Metric metric(kind);
  metric.k = k;
  return mean_node(metric);
}

}  // namespace

MetricNode Accuracy::node(const Loss& loss, const Shape& output) const { return mean_node(accuracy_for(loss, output)); }

MetricNode TopKAccuracy::node(const Loss& loss, const Shape& output) const {
  return top_k(targets_of(loss) == Targets::kClassNumbers ? ops::MetricKind::kSparseTopKCategoricalAccuracy
                                                          : ops::MetricKind::kTopKCategoricalAccuracy,
               k, output);
}

MetricNode BinaryAccuracy::node(const Loss& loss, const Shape&) const {
  require_numbers(kName, loss, "use sparse_categorical_accuracy");
  if (predicts_signs(loss)) {
    if (threshold) throw Error("the outputs of hinge losses are true above 0, as their labels are; remove threshold");
    return mean_node(ops::Metric(ops::MetricKind::kSignAccuracy));
  }
  MetricNode node =
      mean_node(ops::Metric(ops::MetricKind::kBinaryAccuracy, static_cast<float>(threshold.value_or(0.5))));
  node.reads_probabilities = true;
  return node;
}

MetricNode CategoricalAccuracy::node(const Loss& loss, const Shape&) const {
  require_numbers(kName, loss, "use sparse_categorical_accuracy");
  return mean_node(ops::Metric(ops::MetricKind::kCategoricalAccuracy));
}

MetricNode SparseCategoricalAccuracy::node(const Loss& loss, const Shape&) const {
  require_class_numbers(kName, loss, "use categorical_accuracy");
  return mean_node(ops::Metric(ops::MetricKind::kSparseCategoricalAccuracy));
}

MetricNode TopKCategoricalAccuracy::node(const Loss& loss, const Shape& output) const {
  require_numbers(kName, loss, "use sparse_top_k_categorical_accuracy");
  return top_k(ops::MetricKind::kTopKCategoricalAccuracy, k, output);
}

MetricNode SparseTopKCategoricalAccuracy::node(const Loss& loss, const Shape& output) const {
  require_class_numbers(kName, loss, "use top_k_categorical_accuracy");
  return top_k(ops::MetricKind::kSparseTopKCategoricalAccuracy, k, output);
}

config::Section<Accuracy> Accuracy::section() {
  return config::Section<Accuracy>(
      "How often predictions equal labels: binary, categorical or sparse categorical accuracy, by the loss.");
}

config::Section<TopKAccuracy> TopKAccuracy::section() {
  return config::Section<TopKAccuracy>("How often the label is among the `k` classes with the largest outputs.")
      .key("k", &TopKAccuracy::k, "How many classes count.", config::at_least(1));
}

config::Section<BinaryAccuracy> BinaryAccuracy::section() {
  return config::Section<BinaryAccuracy>("How often each output is on its label's side of a threshold.")
      .key("threshold", &BinaryAccuracy::threshold,
           "A probability above it predicts the label 1; null: 0.5, and 0 for the outputs of hinge losses.",
           config::between(0, 1));
}

config::Section<CategoricalAccuracy> CategoricalAccuracy::section() {
  return config::Section<CategoricalAccuracy>("How often the largest output is that of the class of a one-hot label.");
}

config::Section<SparseCategoricalAccuracy> SparseCategoricalAccuracy::section() {
  return config::Section<SparseCategoricalAccuracy>(
      "How often the largest output is that of the label, a class number.");
}

config::Section<TopKCategoricalAccuracy> TopKCategoricalAccuracy::section() {
  return config::Section<TopKCategoricalAccuracy>("top_k_accuracy for one-hot labels.")
      .key("k", &TopKCategoricalAccuracy::k, "How many classes count.", config::at_least(1));
}

config::Section<SparseTopKCategoricalAccuracy> SparseTopKCategoricalAccuracy::section() {
  return config::Section<SparseTopKCategoricalAccuracy>("top_k_accuracy for labels that are class numbers.")
      .key("k", &SparseTopKCategoricalAccuracy::k, "How many classes count.", config::at_least(1));
}

}  // namespace mirrortrain::metrics
