#include "model/metrics/mean_errors.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/error.h"
#include "model/formula/formula_graph.h"
#include "model/metrics/labels.h"

namespace mirrortrain::metrics {
namespace {

constexpr std::string_view kOfClasses = "use accuracy";

/// A mean of what `inputs` computes for each position.
MetricNode correlation_node(std::string_view name, const Loss& loss, const Shape& output) {
  require_numbers(name, loss, kOfClasses);
  if (output.back() == 1) {
    throw Error(
        fmt::format("{} compares the numbers of one example with each other; expected an output of 2 or more, found 1; "
                    "use r2_score",
                    name));
  }
  return mean_node(ops::Metric(ops::MetricKind::kOutput));
}

std::vector<ValueId> of_formula(Graph& graph, std::string_view formula, ValueId output, ValueId labels) {
  // Differences from the means; `t` and `y` have the last axis, their means one number of it.
  const auto centered = [&](std::string_view text, ValueId value) {
    return formula::add_formula(graph, text, {{"x", value}}, DType::kFloat32);
  };
  constexpr std::string_view kMean = "mean(x, axis=-1, keepdims=true)", kRest = "x - mean(x, axis=-1, keepdims=true)";
  const ValueId value = formula::add_formula(graph, formula,
                                             {{"t", centered(kRest, labels)},
                                              {"y", centered(kRest, output)},
                                              {"t_mean", centered(kMean, labels)},
                                              {"y_mean", centered(kMean, output)}},
                                             DType::kFloat32);
  return {value, value};
}

}  // namespace

MetricNode MeanSquaredError::node(const Loss& loss, const Shape&) const {
  require_numbers(kName, loss, kOfClasses);
  return mean_node(ops::Metric(ops::MetricKind::kMeanSquaredError));
}

MetricNode MeanAbsoluteError::node(const Loss& loss, const Shape&) const {
  require_numbers(kName, loss, kOfClasses);
  return mean_node(ops::Metric(ops::MetricKind::kMeanAbsoluteError));
}

MetricNode RootMeanSquaredError::node(const Loss& loss, const Shape&) const {
  require_numbers(kName, loss, kOfClasses);
  MetricNode node = mean_node(ops::Metric(ops::MetricKind::kMeanSquaredError));
  node.value = [](std::span<const double> sums, std::int64_t examples) { return std::sqrt(mean_of(sums, examples)); };
  return node;
}

MetricNode PearsonCorrelation::node(const Loss& loss, const Shape& output) const {
  return correlation_node(kName, loss, output);
}

std::vector<ValueId> PearsonCorrelation::inputs(Graph& graph, ValueId output, ValueId labels) const {
  return of_formula(
      graph,
      "sum(t * y, axis=-1, keepdims=true) / sqrt(sum(t * t, axis=-1, keepdims=true) * sum(y * y, axis=-1, "
      "keepdims=true))",
      output, labels);
}

MetricNode ConcordanceCorrelation::node(const Loss& loss, const Shape& output) const {
  return correlation_node(kName, loss, output);
}

std::vector<ValueId> ConcordanceCorrelation::inputs(Graph& graph, ValueId output, ValueId labels) const {
  return of_formula(graph,
                    "2 * mean(t * y, axis=-1, keepdims=true) / (mean(t * t, axis=-1, keepdims=true) + mean(y * y, "
                    "axis=-1, keepdims=true) + square(t_mean - y_mean) + 1e-7)",
                    output, labels);
}

config::Section<MeanSquaredError> MeanSquaredError::section() {
  return config::Section<MeanSquaredError>("Mean squared error: the mean of (output - label)^2.");
}

config::Section<MeanAbsoluteError> MeanAbsoluteError::section() {
  return config::Section<MeanAbsoluteError>("Mean absolute error: the mean of |output - label|.");
}

config::Section<RootMeanSquaredError> RootMeanSquaredError::section() {
  return config::Section<RootMeanSquaredError>(
      "Root mean squared error: the square root of the mean of (output - label)^2 over all examples.");
}

config::Section<PearsonCorrelation> PearsonCorrelation::section() {
  return config::Section<PearsonCorrelation>(
             "Pearson's correlation of the numbers of each example with its labels, over the last axis.")
      .include<losses::LastAxis>();
}

config::Section<ConcordanceCorrelation> ConcordanceCorrelation::section() {
  return config::Section<ConcordanceCorrelation>(
             "Lin's concordance correlation of the numbers of each example with its labels, over the last axis.")
      .include<losses::LastAxis>();
}

}  // namespace mirrortrain::metrics
