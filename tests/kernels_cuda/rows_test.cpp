#include <doctest/doctest.h>
#include <fmt/format.h>

#include "graph/ops/elementwise.h"
#include "graph/ops/loss.h"
#include "graph/ops/metric.h"
#include "kernels_cuda/compare_with_cpu.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;
using ops::LossKind;
using ops::MetricKind;

// Ops on rows, whose threads are part of a warp, a warp or a block for each row, in one block or in many.

namespace {

const Shape kRowShapes[] = {{3}, {32}, {33}, {2, 1024}, {1025}, {2500}};

/// From one row to more than one block takes.
std::vector<std::int64_t> row_counts(const Shape& shape) {
  if (shape.back() > 1000) return {1, 9};
  return {1, shape.back() > 32 ? 65 : 257};
}

Shape without_last(const Shape& shape) { return Shape(std::vector<std::int64_t>(shape.begin(), shape.end() - 1)); }

}  // namespace

TEST_CASE("softmax of short, long and many rows is the CPU's") {
  for (const Shape& shape : kRowShapes) {
    const Fill spread = [](std::int64_t, double u) { return 5 * u; };
    compare_with_cpu({"softmax " + shape.text(),
                      std::make_shared<ops::Softmax>(),
                      {batched(DType::kFloat32, shape, spread)},
                      row_counts(shape),
                      2e-6});
    compare_with_cpu({"softmax gradient " + shape.text(),
                      std::make_shared<ops::SoftmaxGradient>(),
                      {batched(DType::kFloat32, shape), batched(DType::kFloat32, shape)},
                      row_counts(shape),
                      4e-6});
  }
}

TEST_CASE("losses of short, long and many rows are the CPU's") {
  const ops::Loss losses[] = {
      ops::Loss(LossKind::kMeanSquaredError),
      ops::Loss(LossKind::kBinaryCrossentropy, true, 0.1f),
      ops::Loss(LossKind::kCategoricalCrossentropy, false, 0.1f),
      ops::Loss(LossKind::kCategoricalCrossentropy, true),
      ops::Loss(LossKind::kSparseCategoricalCrossentropy, false),
      ops::Loss(LossKind::kSparseCategoricalCrossentropy, true),
      ops::Loss(LossKind::kCosineSimilarity),
      ops::Loss(LossKind::kKlDivergence),
      ops::Loss(LossKind::kBinaryFocalCrossentropy, true, 0.1f),
  };
  for (const ops::Loss& loss : losses) {
    for (const Shape& shape : kRowShapes) {
      const bool sparse = loss.kind == LossKind::kSparseCategoricalCrossentropy;
      const Fill prediction = [](std::int64_t, double u) { return 0.5 + 0.45 * u; };
      const Fill label = [&](std::int64_t i, double) { return static_cast<double>(i * 7 % shape.back()); };
      const Fill target = [](std::int64_t, double u) { return u > 0 ? 1.0 : 0.0; };
      compare_with_cpu(
          {fmt::format("loss {} {}", static_cast<int>(loss.kind), shape.text()),
           std::make_shared<ops::Loss>(loss),
           {batched(DType::kFloat32, shape, prediction),
            sparse ? batched(DType::kInt32, without_last(shape), label) : batched(DType::kFloat32, shape, target)},
           row_counts(shape),
           5e-6});
    }
  }
}

TEST_CASE("metrics of short, long and many rows are the CPU's") {
  for (const MetricKind kind : {MetricKind::kBinaryAccuracy, MetricKind::kCategoricalAccuracy,
                                MetricKind::kSparseCategoricalAccuracy, MetricKind::kMeanAbsoluteError}) {
    for (const Shape& shape : kRowShapes) {
      const bool sparse = kind == MetricKind::kSparseCategoricalAccuracy;
      // Of few values, so that many are equal and the first must be taken.
      const Fill coarse = [](std::int64_t, double u) { return u > 0.5 ? 1.0 : 0.0; };
      const Fill label = [&](std::int64_t i, double) { return static_cast<double>(i % 4); };
      compare_with_cpu(
          {fmt::format("metric {} {}", static_cast<int>(kind), shape.text()),
           std::make_shared<ops::Metric>(kind),
           {batched(DType::kFloat32, shape, coarse),
            sparse ? batched(DType::kInt32, without_last(shape), label) : batched(DType::kFloat32, shape, coarse)},
           row_counts(shape),
           1e-12});
    }
  }
}

TEST_CASE("the first of equals is taken and NaN loses, as on the CPU") {
  const double nan = std::nan("");
  const ValueSpec spec{DType::kFloat32, {4}, true}, label{DType::kInt32, {}, true};
  const ops::Metric metric(MetricKind::kSparseCategoricalAccuracy);
  const auto hits = [&](std::vector<double> y, double of) {
    return run_op(metric, {{spec, {{1, 4}, std::move(y)}}, {label, {{1}, {of}}}}, 1)[0][0];
  };
  CHECK(hits({1, 2, nan, 2}, 1) == 1);
  CHECK(hits({nan, 2, 3, 2}, 0) == 1);
  CHECK(hits({0, nan, nan, nan}, 0) == 1);
}

TEST_CASE("dropout drops what the CPU drops, bit by bit") {
  for (const DType dtype : kFloatTypes) {
    for (const Shape& shape : {Shape{1}, Shape{8}, Shape{67}, Shape{4096}}) {
      compare_with_cpu(
          {"dropout " + shape.text(), std::make_shared<ops::Dropout>(0.4f, 9), {batched(dtype, shape)}, {1, 13, 0}});
    }
  }
}
