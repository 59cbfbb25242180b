// Wide logits in rows of whole 16 bytes.
#include "kernels/cuda/merge_logits.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <utility>
#include <vector>

#include "graph/op_names.h"
#include "graph/ops/elementwise.h"
#include "kernels/cpu/registry.h"
#include "kernels/cuda/merge.h"
#include "kernels/harness_parts.h"
#include "kernels_cuda/under_test.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;

namespace {

constexpr std::int64_t kClasses = 4099;

/// Logits of a table that is read transposed, or of a layer of its own, with the loss and what its gradient gives.
struct Head {
  Graph graph;
  ValueId hidden = graph.input("hidden", {DType::kBfloat16, {5, 16}, true});
  ValueId labels = graph.input("labels", {DType::kInt32, {5}, true});
  ValueId kernel, bias = kNoValue, logits, loss, accuracy, to_hidden, to_kernel;

  explicit Head(bool tied, std::int64_t classes = kClasses, bool with_bias = false) {
    if (with_bias) bias = graph.variable({"bias", {classes}});
    kernel = graph.variable({"kernel", tied ? Shape{classes, 16} : Shape{16, classes}});
    logits = tied ? graph.apply_one(ops::DenseInputGradient(), {hidden, kernel})
                  : graph.apply_one(ops::Dense(), {hidden, kernel, bias});
    const std::vector<ValueId> made =
        graph.apply(cuda::LossWithMetric(ops::Loss(ops::LossKind::kSparseCategoricalCrossentropy, true),
                                         ops::Metric(ops::MetricKind::kSparseCategoricalAccuracy)),
                    {logits, labels});
    loss = made[0], accuracy = made[2];
    to_hidden = tied ? graph.apply_one(ops::Dense(), {made[1], kernel, kNoValue})
                     : graph.apply_one(ops::DenseInputGradient(), {made[1], kernel});
    to_kernel = graph.apply_one(ops::DenseWeightGradient(with_bias),
                                tied ? std::vector{made[1], hidden} : std::vector{hidden, made[1]});
  }
  Graph merged(std::vector<ValueId> also = {}) const {
    also.insert(also.end(), {loss, accuracy, to_hidden, to_kernel});
    return cuda::merge_logits(graph, also);
  }
};

std::int64_t columns(const Graph& graph, ValueId value) { return graph.spec(value).shape.back(); }

}  // namespace

TEST_CASE("logits and their gradient are in longer rows from the product that makes them to those that read it") {
  for (const auto& [tied, with_bias] : {std::pair(true, false), std::pair(false, false), std::pair(false, true)}) {
    const Head head(tied, kClasses, with_bias);
    const Graph merged = head.merged();
    REQUIRE(merged.nodes().size() == 4);
    const Node &product = merged.node(0), &loss = merged.node(1), &to_hidden = merged.node(2),
               &to_kernel = merged.node(3);
    CHECK(columns(merged, product.outputs[0]) == 4104);
    CHECK(loss.inputs == std::vector{product.outputs[0], head.labels});
    CHECK(loss.outputs == std::vector{head.loss, loss.outputs[1], head.accuracy});
    CHECK(columns(merged, loss.outputs[1]) == 4104);
    CHECK(dynamic_cast<const cuda::LossWithMetric&>(*loss.op).classes == kClasses);
    CHECK(to_hidden.inputs[0] == loss.outputs[1]);
    CHECK(to_hidden.outputs == std::vector{head.to_hidden});
    CHECK(to_kernel.inputs[tied ? 0 : 1] == loss.outputs[1]);
    CHECK(to_kernel.outputs[0] == head.to_kernel);
    for (const Node* const node : {&to_hidden, &to_kernel}) {
      std::vector<ValueSpec> specs;
      for (const ValueId value : node->inputs)
        specs.push_back(value == kNoValue ? ValueSpec{{}, {0}} : merged.spec(value));
      CHECK(node->op->infer(specs)[0] == merged.spec(node->outputs[0]));
    }
  }
}

TEST_CASE("logits that are narrow, begin at 16 bytes anyway, or are read elsewhere stay as they are") {
  const auto changed = [](const Head& head, std::vector<ValueId> also = {}) {
    const Graph merged = head.merged(std::move(also));
    return merged.node(0).outputs != std::vector{head.logits};
  };
  CHECK(changed(Head(true)));
  CHECK_FALSE(changed(Head(true, 4104)));
  CHECK_FALSE(changed(Head(true, 1003)));
  const Head head(true);
  CHECK_FALSE(changed(head, {head.logits}));
  CHECK_FALSE(changed(head, {head.graph.node(1).outputs[1]}));
}

TEST_CASE("what else reads the logits gets a compact copy, or one that is cast") {
  // Without an accuracy, so that the loss is alone; tanh reads the logits as they are, and a metric in float32.
  Graph graph;
  const ValueId hidden = graph.input("hidden", {DType::kBfloat16, {5, 16}, true});
  const ValueId labels = graph.input("labels", {DType::kInt32, {5}, true});
  const ValueId kernel = graph.variable({"kernel", {16, kClasses}});
  const ValueId logits = graph.apply_one(ops::Dense(), {hidden, kernel, kNoValue});
  const ValueId cast = graph.apply_one(ops::Cast(DType::kFloat32), {logits});
  const ops::Loss loss(ops::LossKind::kSparseCategoricalCrossentropy, true);
  const std::vector<ValueId> made = graph.apply(loss, {cast, labels});
  const ValueId top = graph.apply_one(ops::Metric(ops::MetricKind::kSparseTopKCategoricalAccuracy), {cast, labels});
  const ValueId tanh = graph.apply_one(ops::Activation(ops::ActivationKind::kTanh), {logits});
  const ValueId gradient = graph.apply_one(ops::Cast(DType::kBfloat16), {made[1]});
  const ValueId to_kernel = graph.apply_one(ops::DenseWeightGradient(false), {hidden, gradient});

  const Graph merged = cuda::merge(graph, {made[0], top, tanh, to_kernel});
  CHECK(op_names(merged) == std::vector<std::string>{"dense", "compact_rows", "compact_rows", "loss_of_logits",
                                                     "metric", "activation", "dense_weight_gradient"});
  const Node &product = merged.node(0), &copy = merged.node(1), &cast_copy = merged.node(2),
             &of_labels = merged.node(3);
  CHECK(columns(merged, product.outputs[0]) == 4104);
  CHECK(copy.inputs == product.outputs);
  CHECK(copy.outputs == std::vector{logits});
  CHECK(cast_copy.inputs == product.outputs);
  CHECK(cast_copy.outputs == std::vector{cast});
  for (const Node* const node : {&copy, &cast_copy}) {
    CHECK(node->op->infer(std::vector{merged.spec(node->inputs[0])})[0] == merged.spec(node->outputs[0]));
  }
  CHECK(of_labels.inputs == std::vector{product.outputs[0], labels});
  CHECK(dynamic_cast<const cuda::LossOfLogits&>(*of_labels.op).classes == kClasses);
  CHECK(merged.node(4).inputs == std::vector{cast, labels});
  CHECK(merged.node(5).inputs == std::vector{logits});
  CHECK(merged.node(6).inputs == std::vector{hidden, of_labels.outputs[1]});
}

TEST_CASE("compact rows are what counts of longer ones, in either type") {
  for (const DType from : kFloatTypes) {
    for (const DType to : kFloatTypes) {
      for (const auto& [columns, stride] : {std::pair(3, 8), std::pair(9, 16), std::pair(1027, 1032)}) {
        const Inputs longer = random_inputs({batched(from, {3, stride})}, 4);
        Values expected = filled({4, 3, columns});
        for (std::int64_t i = 0; i < expected.elements(); ++i) {
          expected[i] = rounded(to, longer[0].second[i / columns * stride + i % columns]);
        }
        in_each_geometry([&](std::int64_t) {
          compare(run_op(cuda::CompactRows(columns, to), longer, 4)[0], expected, 0, "compact rows");
        });
      }
    }
  }
}

TEST_CASE("the loss of longer rows is that of the elements that count, whatever is behind them") {
  const ops::Loss loss(ops::LossKind::kSparseCategoricalCrossentropy, true);
  const ops::Metric metric(ops::MetricKind::kSparseCategoricalAccuracy);
  for (const DType dtype : kFloatTypes) {
    for (const std::int64_t classes : {std::int64_t{9}, std::int64_t{1027}, kClasses}) {
      const std::int64_t stride = (classes + 7) / 8 * 8;
      const Fill label = [classes](std::int64_t i, double) { return static_cast<double>(i * 7 % classes); };
      const Inputs compact = random_inputs({batched(dtype, {3, classes}), batched(DType::kInt32, {3}, label)}, 4);
      Inputs longer = compact;
      longer[0].first.shape = {3, stride};
      longer[0].second = filled({4, 3, stride}, 1e30);
      for (std::int64_t i = 0; i < 12 * classes; ++i) {
        longer[0].second[i / classes * stride + i % classes] = compact[0].second[i];
      }
      const StepParams step{.global_examples = 4};
      const auto expected = run_op(cuda::LossWithMetric(loss, metric), compact, 4, 1, step);
      in_each_geometry([&](std::int64_t) {
        const auto found = run_op(cuda::LossWithMetric(loss, metric, classes), longer, 4, 1, step);
        compare(found[0], expected[0], 1e-6, "loss");
        compare(found[2], expected[2], 0, "metric");
        Values gradient = filled({4, 3, classes});
        for (std::int64_t i = 0; i < 12 * classes; ++i) gradient[i] = found[1][i / classes * stride + i % classes];
        compare(gradient, expected[1], dtype == DType::kFloat32 ? 1e-6 : 1e-2, "gradient");
        const auto alone = run_op(cuda::LossOfLogits(loss, classes), longer, 4, 1, step);
        CHECK(alone[0].data == found[0].data);
        std::int64_t other = 0;
        for (std::int64_t i = 0; i < 12 * classes; ++i) {
          const std::int64_t at = i / classes * stride + i % classes;
          other += alone[1][at] != found[1][at] ? 1 : 0;
        }
        CHECK(other == 0);
      });
    }
  }
}
