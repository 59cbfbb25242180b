#include "graph/ops/dense.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "kernels/harness.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;

namespace {

struct Geometry {
  Shape input;  ///< per row; the last axis is what the kernel multiplies
  std::int64_t units;
  bool with_bias = true;
  ops::ActivationKind activation = ops::ActivationKind::kLinear;
};

const Geometry kGeometries[] = {
    {{7}, 5},
    {{7}, 5, false},
    {{1}, 1},
    {{33}, 10, true, ops::ActivationKind::kRelu},
    {{64}, 48, true, ops::ActivationKind::kTanh},
    {{100}, 67, false, ops::ActivationKind::kRelu},
    {{3, 2, 17}, 19, true, ops::ActivationKind::kSigmoid},
};

/// Larger than the panels and blocks of kernels, for which finite differences would take long.
const Geometry kLarge[] = {
    {{130}, 100, true, ops::ActivationKind::kRelu}, {{3, 66}, 150, false}, {{2050}, 6}, {{6}, 2050}};

double activated(ops::ActivationKind kind, double x) {
  switch (kind) {
    case ops::ActivationKind::kRelu: return x > 0 ? x : 0;
    case ops::ActivationKind::kTanh: return std::tanh(x);
    case ops::ActivationKind::kSigmoid: return 1 / (1 + std::exp(-x));
    default: return x;
  }
}

Shape with_last(Shape shape, std::int64_t last) {
  shape[shape.rank() - 1] = last;
  return shape;
}

std::vector<Values> dense(const std::vector<Values>& inputs, ops::ActivationKind activation) {
  const Values &x = inputs[0], &kernel = inputs[1];
  const std::int64_t in = kernel.shape[0], out = kernel.shape[1];
  Values y = filled(with_last(x.shape, out));
  for (std::int64_t row = 0; row < y.elements() / out; ++row) {
    double* const sums = &y[row * out];
    for (std::int64_t j = 0; j < out; ++j) sums[j] = inputs.size() > 2 && !inputs[2].absent ? inputs[2][j] : 0;
    for (std::int64_t i = 0; i < in; ++i) {
      const double factor = x[row * in + i];
      for (std::int64_t j = 0; j < out; ++j) sums[j] += factor * kernel[i * out + j];
    }
    for (std::int64_t j = 0; j < out; ++j) sums[j] = activated(activation, sums[j]);
  }
  return {y};
}

std::vector<Values> dense_input_gradient(const std::vector<Values>& inputs) {
  const Values &dy = inputs[0], &kernel = inputs[1];
  const std::int64_t in = kernel.shape[0], out = kernel.shape[1];
  Values dx = filled(with_last(dy.shape, in));
  for (std::int64_t row = 0; row < dx.elements() / in; ++row) {
    for (std::int64_t i = 0; i < in; ++i) {
      double sum = 0;
      for (std::int64_t j = 0; j < out; ++j) sum += dy[row * out + j] * kernel[i * out + j];
      dx[row * in + i] = sum;
    }
  }
  return {dx};
}

std::vector<Values> dense_weight_gradient(const std::vector<Values>& inputs, bool with_bias) {
  const Values &x = inputs[0], &dy = inputs[1];
  const std::int64_t in = x.shape.back(), out = dy.shape.back();
  Values kernel = filled({in, out}), bias = filled({out});
  for (std::int64_t row = 0; row < dy.elements() / out; ++row) {
    for (std::int64_t j = 0; j < out; ++j) bias[j] += dy[row * out + j];
    for (std::int64_t i = 0; i < in; ++i) {
      const double factor = x[row * in + i];
      for (std::int64_t j = 0; j < out; ++j) kernel[i * out + j] += factor * dy[row * out + j];
    }
  }
  if (with_bias) return {kernel, bias};
  return {kernel};
}

/// Kernels round them to the compute dtype; here they are round already.
Operand weights(DType dtype, Shape shape) {
  return fixed(std::move(shape), [dtype](std::int64_t, double uniform) { return rounded(dtype, uniform); });
}

std::string title(const Geometry& g, DType dtype) {
  return fmt::format("dense {} -> {}, {}", g.input.text(), g.units, name_of(dtype));
}

Case forward_case(const Geometry& g, DType dtype) {
  const std::int64_t in = g.input.back();
  Case test{
      .name = title(g, dtype),
      .op = std::make_shared<ops::Dense>(g.activation),
      .inputs = {batched(dtype, g.input), weights(dtype, {in, g.units}), g.with_bias ? fixed({g.units}) : absent()}};
  test.reference = [kind = g.activation](const std::vector<Values>& inputs) { return dense(inputs, kind); };
  return test;
}

}  // namespace

TEST_CASE("dense multiplies the last axis, adds the bias and activates") {
  for (const DType dtype : kFloatTypes) {
    for (const Geometry& g : kGeometries) check_forward(forward_case(g, dtype));
    for (const Geometry& g : kLarge) check_forward(forward_case(g, dtype));
  }
}

TEST_CASE("dense gradients agree with finite differences") {
  for (const DType dtype : kFloatTypes) {
    for (const Geometry& g : kGeometries) check_gradient(forward_case(g, dtype), {true, true, g.with_bias});
  }
}

TEST_CASE("dense_input_gradient multiplies by the transposed kernel") {
  const auto check = [](const Geometry& g, DType dtype) {
    check_forward({.name = title(g, dtype) + ": gradient of the input",
                   .op = std::make_shared<ops::DenseInputGradient>(),
                   .inputs = {batched(dtype, with_last(g.input, g.units)), weights(dtype, {g.input.back(), g.units})},
                   .reference = dense_input_gradient});
  };
  for (const DType dtype : kFloatTypes) {
    for (const Geometry& g : kGeometries) check(g, dtype);
    for (const Geometry& g : kLarge) check(g, dtype);
  }
}

TEST_CASE("a product by a transposed table has the gradients of finite differences") {
  for (const DType dtype : kFloatTypes) {
    for (const Geometry& g : kGeometries) {
      check_gradient(
          {.name = title(g, dtype) + ": gradient of the transposed product",
           .op = std::make_shared<ops::DenseInputGradient>(),
           .inputs = {batched(dtype, with_last(g.input, g.units)), weights(dtype, {g.input.back(), g.units})},
           .reference = dense_input_gradient},
          {true, true});
    }
  }
}

TEST_CASE("dense_weight_gradient sums over all rows and positions, and is zero without rows") {
  for (const DType dtype : kFloatTypes) {
    for (const Geometry& g : kGeometries) {
      Case test{.name = title(g, dtype) + ": gradient of the weights",
                .op = std::make_shared<ops::DenseWeightGradient>(g.with_bias),
                .inputs = {batched(dtype, g.input), batched(dtype, with_last(g.input, g.units))}};
      test.reference = [&](const std::vector<Values>& inputs) { return dense_weight_gradient(inputs, g.with_bias); };
      check_forward(test);
      if (!g.with_bias) check_gradient(test, {true, true});
    }
  }
}

TEST_CASE("a dense layer as large as those that are trained multiplies as the small ones") {
  const Geometry g{{784}, 512, true, ops::ActivationKind::kRelu};
  const std::vector<std::int64_t> rows{1024};
  for (const DType dtype : kFloatTypes) {
    Case forward = forward_case(g, dtype);
    forward.rows = rows;
    Case of_input{.name = title(g, dtype) + ": gradient of the input",
                  .op = std::make_shared<ops::DenseInputGradient>(),
                  .inputs = {batched(dtype, {g.units}), weights(dtype, {784, g.units})},
                  .reference = dense_input_gradient,
                  .rows = rows};
    Case of_weights{.name = title(g, dtype) + ": gradient of the weights",
                    .op = std::make_shared<ops::DenseWeightGradient>(true),
                    .inputs = {batched(dtype, g.input), batched(dtype, {g.units})},
                    .reference = [](const std::vector<Values>& inputs) { return dense_weight_gradient(inputs, true); },
                    .rows = rows};
    for (Case* test : {&forward, &of_input, &of_weights}) {
      if (dtype == DType::kFloat32) test->tolerance = 5e-6;  // sums of up to 1024 terms
      check_forward(*test);
    }
  }
}

TEST_CASE("dense gradients are left out where they are not wanted") {
  Graph graph;
  const ValueId x = graph.input("x", {DType::kFloat32, {4}, true});
  const ValueId kernel = graph.variable({"kernel", {4, 3}}), bias = graph.variable({"bias", {3}});
  const ValueId y = graph.apply_one(ops::Dense(), {x, kernel, bias});
  const Node node = graph.nodes().back();
  const ValueId dy = graph.input("dy", graph.spec(y));
  const auto only_bias = node.op->gradient(graph, node, std::vector{dy}, {false, false, true});
  CHECK(only_bias[0] == kNoValue);
  CHECK(only_bias[1] == kNoValue);
  CHECK(graph.spec(only_bias[2]) == graph.spec(bias));
  const auto no_gradient = node.op->gradient(graph, node, std::vector{kNoValue}, {true, true, true});
  CHECK(no_gradient == std::vector<ValueId>(3, kNoValue));
}

TEST_CASE("dense refuses a kernel or bias that does not fit, with the shapes") {
  const ValueSpec x{DType::kFloat32, {4}, true};
  const auto infer = [&](Shape kernel, Shape bias) {
    const ValueSpec specs[] = {
        x, {DType::kFloat32, std::move(kernel), false}, {DType::kFloat32, std::move(bias), false}};
    return ops::Dense().infer(specs);
  };
  CHECK(infer({4, 3}, {3})[0] == ValueSpec{DType::kFloat32, {3}, true});
  CHECK_THROWS_WITH_AS(infer({5, 3}, {3}),
                       "dense: an input of shape [4] needs a float32 kernel [4, units], found [5, 3]", Error);
  CHECK_THROWS_WITH_AS(infer({4, 3}, {4}), "dense: a kernel [4, 3] needs a float32 bias [3], found [4]", Error);
}
