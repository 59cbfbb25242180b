// Ops of several in one kernel give what the several give on the CPU.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "graph/op_names.h"
#include "graph/ops/conv.h"
#include "graph/ops/elementwise.h"
#include "kernels/cpu/registry.h"
#include "kernels/cuda/merge.h"
#include "kernels_cuda/compare_with_cpu.h"
#include "kernels_cuda/under_test.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;
using ops::LossKind;
using ops::MetricKind;
using ops::Padding;

namespace {

const StepParams kStep = {.seed = 7, .step = 3, .first_row = 11, .global_examples = 13};

std::vector<Values> on_cpu(const Op& op, const Inputs& inputs, std::int64_t rows) {
  return run_once(op, inputs, rows, kStep, cpu::kernel_registry());
}

/// With `y` as float32.
Inputs in_float(Inputs inputs) {
  inputs[0].first.dtype = DType::kFloat32;
  return inputs;
}

struct PoolCase {
  ops::Pool2dAttributes pool;
  Shape image;
};
const PoolCase kPools[] = {
    {{{2, 2}, {2, 2}, Padding::kValid}, {26, 26, 32}}, {{{2, 2}, {2, 2}, Padding::kValid}, {11, 11, 64}},
    {{{3, 3}, {2, 2}, Padding::kSame}, {8, 5, 20}},    {{{2, 3}, {3, 5}, Padding::kValid}, {8, 9, 6}},
    {{{2, 2}, {2, 2}, Padding::kSame}, {3, 3, 1100}},
};

}  // namespace

TEST_CASE("a loss with a metric is the loss and the metric") {
  for (const bool sparse : {true, false}) {
    for (const bool of_logits : {true, false}) {
      for (const DType dtype : kFloatTypes) {
        if (!of_logits && dtype == DType::kBfloat16) continue;
        const ops::Loss loss(sparse ? LossKind::kSparseCategoricalCrossentropy : LossKind::kCategoricalCrossentropy,
                             of_logits, sparse ? 0.0f : 0.1f);
        const ops::Metric metric(sparse ? MetricKind::kSparseCategoricalAccuracy : MetricKind::kCategoricalAccuracy);
        for (const Shape& shape : {Shape{10}, Shape{3, 40}, Shape{1100}, Shape{1101}}) {
          const Fill y = [](std::int64_t, double u) { return 0.5 + 0.45 * u; };
          const Fill label = [&](std::int64_t i, double) { return static_cast<double>(i * 7 % shape.back()); };
          const Shape per_position(std::vector<std::int64_t>(shape.begin(), shape.end() - 1));
          const Operand targets =
              sparse ? batched(DType::kInt32, per_position, label) : batched(DType::kFloat32, shape);
          for (const std::int64_t rows : {1, 40, 700}) {
            if (rows > 200 && shape.elements() > 10) continue;
            Inputs inputs = random_inputs({batched(dtype, shape, y), targets}, rows);
            const auto metrics = on_cpu(metric, in_float(inputs), rows);
            for (const bool weighted : {false, true}) {
              if (weighted && rows != 40) continue;
              if (weighted) inputs.push_back(random_inputs({batched(DType::kFloat32, {}, y)}, rows, 4)[0]);
              const auto losses = on_cpu(loss, in_float(inputs), rows);
              const auto check = [&](const std::vector<Values>& found, std::int64_t blocks) {
                const std::string name = fmt::format("{} {} x {}{}, {} blocks", name_of(dtype), rows, shape.text(),
                                                     weighted ? " weighted" : "", blocks);
                compare(found[0], losses[0], 5e-6, name + ": loss");
                compare(found[1], losses[1], dtype == DType::kFloat32 ? 5e-6 : 1e-2, name + ": gradient");
                compare(found[2], metrics[0], 1e-12, name + ": metric");
              };
              run_in_each_geometry(cuda::LossWithMetric(loss, metric), inputs, rows, kStep, check);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("a max pooling's gradient with sums is the gradient and its columns' sums") {
  for (const DType dtype : kFloatTypes) {
    for (const auto& [pool, image] : kPools) {
      for (const bool relu : {true, false}) {
        const ops::MaxPool2d forward(pool, relu);
        const ops::MaxPool2dGradient backward(pool, image, relu);
        for (const std::int64_t rows : {1, 5, 0}) {
          const Inputs x = random_inputs({batched(dtype, image)}, rows);
          const auto pooled = on_cpu(forward, x, rows);
          const ValueSpec y = forward.infer(std::vector{x[0].first})[0];
          Inputs inputs = random_inputs({{y, {}}}, rows, 3);
          inputs.push_back({{DType::kUint8, y.shape, true}, pooled[1]});
          if (relu) inputs.push_back({y, pooled[0]});
          const auto expected = on_cpu(backward, inputs, rows);
          Values sums = filled({image.back()});
          for (std::int64_t i = 0; i < expected[0].elements(); ++i) sums[i % image.back()] += expected[0][i];
          const auto check = [&](const std::vector<Values>& found, std::int64_t blocks) {
            const std::string name = fmt::format("{} {} x {}, {} blocks", name_of(dtype), rows, image.text(), blocks);
            compare(found[0], expected[0], 0, name + ": gradient");
            compare(found[1], sums, 2e-6, name + ": sums");
          };
          run_in_each_geometry(cuda::MaxPool2dGradientWithSums(backward), inputs, rows, {}, check);
        }
      }
    }
  }
}

TEST_CASE("a batch normalization of a residual adds and takes relu as the CPU does one after the other") {
  for (const DType dtype : kFloatTypes) {
    for (const Shape& shape : {Shape{6, 5, 8}, Shape{7, 3}, Shape{3, 3, 260}}) {
      const Shape channels{shape.back()};
      for (const std::int64_t rows : {5, 1, 0}) {
        const ops::BatchNorm norm(0.9f, 1e-3f);
        Inputs inputs = random_inputs(
            {batched(dtype, shape), fixed(channels), fixed(channels), fixed(channels), fixed(channels)}, rows);
        const auto normalized = on_cpu(norm, inputs, rows);
        const Inputs other = random_inputs({batched(dtype, shape)}, rows, 5);
        std::vector<Values> expected = normalized;
        for (std::int64_t i = 0; i < expected[0].elements(); ++i) {
          expected[0][i] = std::max(0.0, expected[0][i] + other[0].second[i]);
        }
        inputs.push_back(other[0]);
        const auto check = [&](const std::vector<Values>& found, std::int64_t blocks) {
          for (std::size_t i = 0; i < found.size(); ++i) {
            compare(found[i], expected[i], dtype == DType::kFloat32 ? 1e-5 : 2e-2,
                    fmt::format("{} {} x {}, output {}, {} blocks", name_of(dtype), rows, shape.text(), i, blocks));
          }
        };
        run_in_each_geometry(cuda::BatchNormOfResidual(norm), inputs, rows, {}, check);
      }
    }
  }
}

TEST_CASE("relu's gradient of a sum is relu's gradient of the sum") {
  for (const DType dtype : kFloatTypes) {
    for (const std::int64_t elements : {1, 64, 1003}) {
      for (const std::size_t terms : {1u, 2u, 5u}) {
        std::vector<Operand> operands(terms + 1, batched(dtype, {elements}));
        const Inputs inputs = random_inputs(operands, 3);
        const Inputs addends(inputs.begin() + 1, inputs.end());
        const auto sum = on_cpu(ops::AddN(), addends, 3);
        const auto expected =
            on_cpu(ops::ActivationGradient(ops::ActivationKind::kRelu), {inputs[0], {addends[0].first, sum[0]}}, 3);
        run_in_each_geometry(
            cuda::ReluGradientOfSum(), inputs, 3, {},
            [&](const std::vector<Values>& found, std::int64_t) { compare(found[0], expected[0], 0, "gradient"); });
      }
    }
  }
}

namespace {

/// Logits in bfloat16 with a loss and metrics, and what goes on from the loss's gradient.
struct Classifier {
  Graph graph;
  ValueId features = graph.input("features", {DType::kBfloat16, {4}, true});
  ValueId labels = graph.input("labels", {DType::kInt32, {}, true});
  ValueId logits = graph.apply_one(ops::Activation(ops::ActivationKind::kTanh), {features});
  ValueId cast = graph.apply_one(ops::Cast(DType::kFloat32), {logits});
  ValueId loss = graph.apply_one(ops::Loss(LossKind::kSparseCategoricalCrossentropy, true), {cast, labels});
  ValueId accuracy = graph.apply_one(ops::Metric(MetricKind::kSparseCategoricalAccuracy), {cast, labels});
  ValueId gradient = graph.apply_one(ops::Cast(DType::kBfloat16), {graph.node(graph.value(loss).producer).outputs[1]});
  ValueId end = graph.apply_one(ops::ActivationGradient(ops::ActivationKind::kTanh), {logits, gradient});
};

}  // namespace

TEST_CASE("merging leaves values where they were, made by fewer nodes") {
  const Classifier c;
  const Graph merged = cuda::merge(c.graph, {c.loss, c.accuracy, c.end});
  CHECK(op_names(merged) == std::vector<std::string>{"activation", "loss_with_metric", "activation_gradient"});
  const Node& loss = merged.node(1);
  CHECK(loss.inputs == std::vector{c.logits, c.labels});
  CHECK(loss.outputs == std::vector{c.loss, c.gradient, c.accuracy});
  CHECK(merged.value(c.accuracy).producer == 1);
  CHECK(merged.value(c.accuracy).output == 2);

  // What somebody else wants in float32 is still made, and what is wanted of the gradient stays so.
  CHECK(op_names(cuda::merge(c.graph, {c.loss, c.accuracy, c.end, c.cast})) ==
        std::vector<std::string>{"activation", "cast", "loss_with_metric", "activation_gradient"});
  const ValueId gradient = c.graph.node(c.graph.value(c.loss).producer).outputs[1];
  CHECK(op_names(cuda::merge(c.graph, {c.loss, c.accuracy, c.end, gradient})) ==
        std::vector<std::string>{"activation", "cast", "loss_with_metric", "cast", "activation_gradient"});
}

TEST_CASE("a loss of logits without an accuracy includes the casts around it, whoever else reads them") {
  Graph graph;
  const ValueId features = graph.input("features", {DType::kBfloat16, {4}, true});
  const ValueId labels = graph.input("labels", {DType::kInt32, {}, true});
  const ValueId logits = graph.apply_one(ops::Activation(ops::ActivationKind::kTanh), {features});
  const ValueId cast = graph.apply_one(ops::Cast(DType::kFloat32), {logits});
  const std::vector<ValueId> loss =
      graph.apply(ops::Loss(LossKind::kSparseCategoricalCrossentropy, true), {cast, labels});
  const ValueId top = graph.apply_one(ops::Metric(MetricKind::kSparseTopKCategoricalAccuracy), {cast, labels});
  const ValueId gradient = graph.apply_one(ops::Cast(DType::kBfloat16), {loss[1]});
  const Graph merged = cuda::merge(graph, {loss[0], top, gradient});
  CHECK(op_names(merged) == std::vector<std::string>{"activation", "cast", "loss_of_logits", "metric"});
  CHECK(merged.node(2).inputs == std::vector{logits, labels});
  CHECK(merged.node(2).outputs == std::vector{loss[0], gradient});
  CHECK(merged.node(3).inputs == std::vector{cast, labels});
  CHECK(op_names(cuda::merge(graph, {loss[0], gradient})).size() == 4);  // the metric, which nobody needs, is left
}

TEST_CASE("a loss of logits in bfloat16 is the one of the same numbers in float32") {
  const ops::Loss loss(LossKind::kSparseCategoricalCrossentropy, true);
  for (const Shape& shape : {Shape{10}, Shape{3, 40}, Shape{1101}}) {
    const Fill label = [&](std::int64_t i, double) { return static_cast<double>(i * 7 % shape.back()); };
    const Shape per_position(std::vector<std::int64_t>(shape.begin(), shape.end() - 1));
    const Inputs inputs =
        random_inputs({batched(DType::kBfloat16, shape), batched(DType::kInt32, per_position, label)}, 40);
    const auto expected = on_cpu(loss, in_float(inputs), 40);
    in_each_geometry([&](std::int64_t) {
      const auto found = run_op(cuda::LossOfLogits(loss), inputs, 40, 1, kStep);
      compare(found[0], expected[0], 5e-6, "loss");
      compare(found[1], expected[1], 1e-2, "gradient");
    });
  }
}

TEST_CASE("a residual's sum and relu go into its normalization, and the sum of gradients into relu's") {
  for (const bool sum_is_wanted : {false, true}) {
    Graph graph;
    const ValueSpec images{DType::kFloat32, {4, 4, 3}, true};
    const ValueId a = graph.input("a", images), b = graph.input("b", images);
    std::vector<ValueId> vectors;
    for (const char* name : {"gamma", "beta", "mean", "variance"}) vectors.push_back(graph.variable({name, {3}}));
    const auto norm = graph.apply(ops::BatchNorm(0.9f, 1e-3f), {a, vectors[0], vectors[1], vectors[2], vectors[3]});
    const ValueId sum = graph.apply_one(ops::AddN(), {b, norm[0]});
    const ValueId relu = graph.apply_one(ops::Activation(ops::ActivationKind::kRelu), {sum});
    const ValueId gradients = graph.apply_one(ops::AddN(), {a, b});
    const ValueId gradient = graph.apply_one(ops::ActivationGradient(ops::ActivationKind::kRelu), {relu, gradients});
    std::vector<ValueId> outputs{relu, gradient, norm[3]};
    if (sum_is_wanted) outputs.insert(outputs.end(), {sum, gradients});
    const Graph merged = cuda::merge(graph, outputs);
    if (sum_is_wanted) {
      CHECK(merged.nodes().size() == 5);
      continue;
    }
    CHECK(op_names(merged) == std::vector<std::string>{"batch_norm_of_residual", "relu_gradient_of_sum"});
    CHECK(merged.node(0).inputs == std::vector{a, vectors[0], vectors[1], vectors[2], vectors[3], b});
    CHECK(merged.node(0).outputs == std::vector{relu, norm[1], norm[2], norm[3], norm[4]});
    CHECK(merged.node(1).inputs == std::vector{relu, a, b});
  }
}

TEST_CASE("a normalization whose statistics another reads before the relu stays before it") {
  Graph graph;
  const ValueSpec images{DType::kFloat32, {4, 4, 3}, true};
  const ValueId a = graph.input("a", images), b = graph.input("b", images);
  std::vector<ValueId> vectors;
  for (const char* name : {"gamma", "beta", "mean", "variance"}) vectors.push_back(graph.variable({name, {3}}));
  const ops::BatchNorm op(0.9f, 1e-3f);
  const auto first = graph.apply(op, {a, vectors[0], vectors[1], vectors[2], vectors[3]});
  // The same layer called once more goes on from what the first call assigned.
  const auto second = graph.apply(op, {b, vectors[0], vectors[1], first[3], first[4]});
  const ValueId sum = graph.apply_one(ops::AddN(), {first[0], second[0]});
  const ValueId relu = graph.apply_one(ops::Activation(ops::ActivationKind::kRelu), {sum});
  const Graph merged = cuda::merge(graph, {relu, second[3], second[4]});
  CHECK(op_names(merged) == std::vector<std::string>{"batch_norm", "batch_norm_of_residual"});
  CHECK(merged.node(1).inputs == std::vector{b, vectors[0], vectors[1], first[3], first[4], first[0]});
}

TEST_CASE("a loss with a mask and a metric without one stay apart") {
  Graph graph;
  const ValueId logits = graph.input("logits", {DType::kFloat32, {5, 4}, true});
  const ValueId labels = graph.input("labels", {DType::kInt32, {5}, true});
  const ValueId mask = graph.input("mask", {DType::kFloat32, {5}, true});
  const auto loss =
      graph.apply(ops::Loss(LossKind::kSparseCategoricalCrossentropy, true), {logits, labels, kNoValue, mask});
  const ValueId accuracy = graph.apply_one(ops::Metric(MetricKind::kSparseCategoricalAccuracy), {logits, labels});
  const Graph merged = cuda::merge(graph, {loss[0], loss[1], accuracy});
  CHECK(op_names(merged) == std::vector<std::string>{"loss_of_logits", "metric"});
  CHECK(merged.spec(loss[0]).shape == Shape{2});  // the sum, and how many count
}

TEST_CASE("an input that is only cast comes in that dtype") {
  for (const bool is_read_twice : {false, true}) {
    Graph graph;
    const ValueId x = graph.input("features", {DType::kFloat32, {4}, true});
    const ValueId cast = graph.apply_one(ops::Cast(DType::kBfloat16), {x});
    const ValueId y = graph.apply_one(ops::Activation(ops::ActivationKind::kTanh), {is_read_twice ? x : cast});
    const ValueId z = graph.apply_one(ops::Activation(ops::ActivationKind::kTanh), {cast});
    const Graph merged = cuda::merge(graph, {y, z});
    CHECK(merged.spec(x).dtype == (is_read_twice ? DType::kFloat32 : DType::kBfloat16));
    CHECK(merged.nodes().size() == (is_read_twice ? 3 : 2));
    CHECK(merged.nodes().back().inputs == std::vector{is_read_twice ? cast : x});
  }
}

TEST_CASE("a convolution's bias takes its gradient from the pooling behind it") {
  Graph graph;
  const ops::Pool2dAttributes pool;
  const ValueId x = graph.input("features", {DType::kFloat32, {8, 8, 2}, true});
  const ValueId kernel = graph.variable({"kernel", {3, 3, 2, 4}}), bias = graph.variable({"bias", {4}});
  const ValueId conv = graph.apply_one(ops::Conv2d(ops::Conv2dAttributes{}), {x, kernel, bias});
  const std::vector<ValueId> pooled = graph.apply(ops::MaxPool2d(pool, true), {conv});
  const ValueId dx = graph.apply_one(ops::MaxPool2dGradient(pool, {6, 6, 4}, true), {pooled[0], pooled[1], pooled[0]});
  const std::vector<ValueId> weights =
      graph.apply(ops::Conv2dWeightGradient(ops::Conv2dAttributes{}, {3, 3, 2, 4}, true), {x, dx});
  const Graph merged = cuda::merge(graph, weights);
  CHECK(op_names(merged) == std::vector<std::string>{"conv2d", "max_pool2d", "max_pool2d_gradient_with_sums",
                                                     "conv2d_ohwi_weight_gradient"});
  CHECK(merged.node(2).outputs == std::vector{dx, weights[1]});
  CHECK(merged.node(3).outputs == std::vector{weights[0]});
}

TEST_CASE("a loss with a metric is the two where values are no numbers and classes are not there, too") {
  using Limits = std::numeric_limits<double>;
  for (const bool sparse : {true, false}) {
    for (const bool of_logits : {true, false}) {
      const ops::Loss loss(sparse ? LossKind::kSparseCategoricalCrossentropy : LossKind::kCategoricalCrossentropy,
                           of_logits);
      const ops::Metric metric(sparse ? MetricKind::kSparseCategoricalAccuracy : MetricKind::kCategoricalAccuracy);
      for (const auto& [classes, rows] : {std::pair(1, 3), std::pair(9, 300), std::pair(33, 70), std::pair(1025, 9)}) {
        for (const double odd : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()}) {
          const Fill y = [=](std::int64_t i, double u) { return i % 37 == 5 ? odd : 0.5 + 0.4 * u; };
          // Some classes are not there.
          const Fill label = [=](std::int64_t i, double) { return static_cast<double>(i % (classes + 2) - 1); };
          const Operand targets = sparse ? batched(DType::kInt32, {}, label) : batched(DType::kFloat32, {classes});
          const Inputs inputs = random_inputs({batched(DType::kFloat32, {classes}, y), targets}, rows);
          const auto found = run_op(cuda::LossWithMetric(loss, metric), inputs, rows, 1, kStep);
          const auto losses = run_op(loss, inputs, rows, 1, kStep), metrics = run_op(metric, inputs, rows, 1, kStep);
          const std::string name = fmt::format("{} x {} with {}", rows, classes, odd);
          compare(found[0], losses[0], 1e-6, name + ": loss");
          compare(found[1], losses[1], 1e-6, name + ": gradient");
          compare(found[2], metrics[0], 0, name + ": metric");
        }
      }
    }
  }
}
