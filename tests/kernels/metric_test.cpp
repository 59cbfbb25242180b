#include "graph/ops/metric.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

#include "kernels/harness.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;
using ops::MetricKind;

namespace {

std::int64_t argmax(const Values& values, std::int64_t first, std::int64_t count) {
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < count; ++i) best = values[first + i] > values[first + best] ? i : best;
  return best;
}

Reference reference_of(const ops::Metric& metric) {
  return [=](const std::vector<Values>& inputs) {
    const Values &y = inputs[0], &t = inputs[1];
    const std::int64_t classes = y.shape.back(), all = y.elements() / classes;
    const double positions = y.rows() == 0 ? 1 : static_cast<double>(all / y.rows());
    double sum = 0;
    double counted = 0;
    for (std::int64_t i = 0; i < all; ++i) {
      if (inputs.size() > 2 && inputs[2][i / (all / inputs[2].elements())] == 0) continue;
      ++counted;
      if (metric.kind == MetricKind::kCategoricalAccuracy) {
        sum += argmax(y, i * classes, classes) == argmax(t, i * classes, classes);
      } else if (metric.kind == MetricKind::kSparseCategoricalAccuracy) {
        sum += static_cast<double>(argmax(y, i * classes, classes)) == t[i];
      } else if (metric.kind == MetricKind::kTopKCategoricalAccuracy || metric.reads_class_numbers()) {
        const bool labels = metric.reads_class_numbers();
        const auto right = labels ? static_cast<std::int64_t>(t[i]) : argmax(t, i * classes, classes);
        std::int64_t larger = 0;
        for (std::int64_t e = i * classes; e < (i + 1) * classes; ++e) larger += y[e] > y[i * classes + right];
        sum += larger < metric.k;
      } else {
        for (std::int64_t e = i * classes; e < (i + 1) * classes; ++e) {
          const double predicted = y[e] > static_cast<double>(metric.threshold), error = std::fabs(y[e] - t[e]);
          const double term = metric.kind == MetricKind::kBinaryAccuracy      ? predicted == t[e]
                              : metric.kind == MetricKind::kSignAccuracy      ? (y[e] > 0) == (t[e] > 0)
                              : metric.kind == MetricKind::kMeanAbsoluteError ? error
                                                                              : error * error;
          sum += term / static_cast<double>(classes);
        }
      }
    }
    if (inputs.size() > 2) return std::vector<Values>{{Shape{2}, {sum, counted}}};
    return std::vector<Values>{{Shape{}, {sum / positions}}};
  };
}

ops::Metric top(MetricKind kind, std::int64_t k) {
  ops::Metric metric(kind);
  metric.k = k;
  return metric;
}

}  // namespace

TEST_CASE("metrics match a reference in double") {
  const ops::Metric metrics[] = {
      ops::Metric(MetricKind::kBinaryAccuracy),
      ops::Metric(MetricKind::kBinaryAccuracy, 0.0f),
      ops::Metric(MetricKind::kCategoricalAccuracy),
      ops::Metric(MetricKind::kSparseCategoricalAccuracy),
      ops::Metric(MetricKind::kSignAccuracy),
      ops::Metric(MetricKind::kMeanSquaredError),
      ops::Metric(MetricKind::kMeanAbsoluteError),
      top(MetricKind::kTopKCategoricalAccuracy, 2),
      top(MetricKind::kSparseTopKCategoricalAccuracy, 3),
  };
  for (const ops::Metric& metric : metrics) {
    for (const Shape& shape : {Shape{10}, Shape{1}, Shape{2, 5, 3}, Shape{2, 33}}) {
      const bool sparse = metric.reads_class_numbers();
      const bool continuous = metric.kind >= MetricKind::kMeanSquaredError;
      const std::int64_t classes = shape.back();
      const Shape labels(std::vector<std::int64_t>(shape.begin(), shape.end() - 1));
      const Fill label = [=](std::int64_t i, double) { return static_cast<double>(i % classes); };
      const Fill target = [=](std::int64_t, double u) { return continuous ? u : (u > 0 ? 1.0 : 0.0); };
      Case test{.name = fmt::format("metric {} {}", static_cast<int>(metric.kind), shape.text()),
                .op = std::make_shared<ops::Metric>(metric),
                .inputs = {batched(DType::kFloat32, shape),
                           sparse ? batched(DType::kInt32, labels, label) : batched(DType::kFloat32, shape, target)},
                .reference = reference_of(metric),
                .rows = {23, 1, 0}};
      check_forward(test);
      if (shape.rank() == 1) continue;
      test.name += " masked";
      test.inputs.push_back(
          batched(DType::kFloat32, {shape[0]}, [](std::int64_t, double u) { return u > 0 ? 1.0 : 0.0; }));
      check_forward(test);
    }
  }
}

TEST_CASE("binary accuracy's threshold is strict and argmax takes the first of equals") {
  const ValueSpec spec{DType::kFloat32, {2}, true}, label{DType::kInt32, {}, true};
  const Values halves{{1, 2}, {0.5, 0.5}};
  CHECK(run_op(ops::Metric(MetricKind::kBinaryAccuracy), {{spec, halves}, {spec, {{1, 2}, {0, 1}}}}, 1)[0][0] == 0.5);
  const ops::Metric sparse(MetricKind::kSparseCategoricalAccuracy);
  CHECK(run_op(sparse, {{spec, halves}, {label, {{1}, {0}}}}, 1)[0][0] == 1);
  CHECK(run_op(sparse, {{spec, halves}, {label, {{1}, {1}}}}, 1)[0][0] == 0);
}

TEST_CASE("equals of the k-th largest output are in the top k, and NaN is not") {
  const ValueSpec spec{DType::kFloat32, {3}, true}, label{DType::kInt32, {}, true};
  const auto at = [&](std::vector<double> y, double right) {
    const ops::Metric metric = top(MetricKind::kSparseTopKCategoricalAccuracy, 2);
    return run_op(metric, {{spec, {{1, 3}, std::move(y)}}, {label, {{1}, {right}}}}, 1)[0][0];
  };
  CHECK(at({3, 2, 2}, 2) == 1);
  CHECK(at({3, 2, 1}, 2) == 0);
  CHECK(at({3, 2, std::nan("")}, 2) == 0);
}

TEST_CASE("a metric accepts targets without the last axis of one") {
  const ValueSpec y{DType::kFloat32, {1}, true}, t{DType::kFloat32, {}, true};
  const ops::Metric error(MetricKind::kMeanAbsoluteError);
  CHECK(run_op(error, {{y, {{2, 1}, {3, 5}}}, {t, {{2}, {1, 1}}}}, 2)[0][0] == 6);
}
