#include "graph/ops/elementwise.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/ops/batch_row.h"
#include "kernels/harness.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;
using ops::ActivationKind;

namespace {

struct NamedFunction {
  ActivationKind kind;
  double (*function)(double);
};

const NamedFunction kActivations[] = {
    {ActivationKind::kLinear, [](double x) { return x; }},
    {ActivationKind::kRelu, [](double x) { return std::max(0.0, x); }},
    {ActivationKind::kLeakyRelu, [](double x) { return x > 0 ? x : 0.2 * x; }},
    {ActivationKind::kElu, [](double x) { return x > 0 ? x : std::expm1(x); }},
    {ActivationKind::kSelu, [](double x) { return 1.05070098735548 * (x > 0 ? x : 1.67326324235437 * std::expm1(x)); }},
    {ActivationKind::kSigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }},
    {ActivationKind::kTanh, [](double x) { return std::tanh(x); }},
    {ActivationKind::kSoftplus, [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }},
    {ActivationKind::kSilu, [](double x) { return x / (1 + std::exp(-x)); }},
    {ActivationKind::kGelu, [](double x) { return x * 0.5 * std::erfc(-x / std::sqrt(2.0)); }},
    {ActivationKind::kGeluTanh,
     [](double x) { return x / 2 * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x))); }},
    {ActivationKind::kHardSigmoid, [](double x) { return std::clamp(x + 3, 0.0, 6.0) / 6; }},
    {ActivationKind::kHardSilu, [](double x) { return x * std::clamp(x + 3, 0.0, 6.0) / 6; }},
    {ActivationKind::kRelu6, [](double x) { return std::clamp(x, 0.0, 6.0); }},
    {ActivationKind::kMish, [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
    {ActivationKind::kSoftsign, [](double x) { return x / (1 + std::fabs(x)); }},
    {ActivationKind::kExponential, [](double x) { return std::exp(x); }},
};

Reference elementwise(double (*function)(double)) {
  return [=](const std::vector<Values>& inputs) {
    Values y = inputs[0];
    for (double& value : y.data) value = function(value);
    return std::vector<Values>{y};
  };
}

std::vector<Values> sum_of(const std::vector<Values>& inputs) {
  Values sum = filled(inputs[0].shape);
  for (const Values& input : inputs) {
    for (std::int64_t i = 0; i < sum.elements(); ++i) sum[i] += input[i];
  }
  return {sum};
}

}  // namespace

TEST_CASE("activations and their gradients match a reference in double") {
  for (const DType dtype : kFloatTypes) {
    for (const auto& [kind, function] : kActivations) {
      for (const Shape& shape : {Shape{3, 7, 5}, Shape{1}, Shape{33}}) {
        Case test{.name = fmt::format("{} {} {}", name_of(kind), name_of(dtype), shape.text()),
                  .op = std::make_shared<ops::Activation>(kind),
                  .inputs = {batched(dtype, shape, [](std::int64_t, double u) { return 8 * u; })},
                  .reference = elementwise(function)};
        check_forward(test);
        // Nearer to 0, as the rounded output of a saturated sigmoid no longer tells its slope.
        test.inputs[0].fill = [](std::int64_t, double u) { return 2 * u; };
        check_gradient(test, {true});
      }
    }
  }
}

TEST_CASE("activations are split over threads without a trace") {
  const Case test{.name = "large silu",
                  .op = std::make_shared<ops::Activation>(ActivationKind::kSilu),
                  .inputs = {batched(DType::kFloat32, {5003})},
                  .reference = elementwise(kActivations[8].function),
                  .rows = {17}};
  check_forward(test);
}

TEST_CASE("relu lets NaN through and sigmoid, tanh and softplus hold at the ends") {
  constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
  const Values x{{1, 7}, {-kInf, -1e30, -100, kNan, 100, 1e30, kInf}};
  const ValueSpec spec{DType::kFloat32, {7}, true};
  const auto at = [&](ActivationKind kind) { return run_op(ops::Activation(kind), {{spec, x}}, 1)[0]; };
  const Values relu = at(ActivationKind::kRelu), sigmoid = at(ActivationKind::kSigmoid);
  const Values tanh = at(ActivationKind::kTanh), softplus = at(ActivationKind::kSoftplus);
  CHECK(std::isnan(relu[3]));
  CHECK(relu[0] == 0);
  CHECK(relu[6] == kInf);
  CHECK(softplus[6] == kInf);
  const std::vector<double> zero_or_one = {0, 0, 0, 0, 1, 1, 1};
  for (const std::int64_t i : {0, 1, 2, 4, 5, 6}) {
    CHECK(sigmoid[i] == doctest::Approx(zero_or_one[static_cast<std::size_t>(i)]));
    CHECK(tanh[i] == 2 * zero_or_one[static_cast<std::size_t>(i)] - 1);
    if (i < 6) CHECK(softplus[i] == doctest::Approx(std::max(0.0, x[i])));
  }
  CHECK(std::isnan(sigmoid[3]));
  CHECK(std::isnan(tanh[3]));
  CHECK(std::isnan(softplus[3]));
}

TEST_CASE("activations with ends have no slope beyond them") {
  const Values x{{1, 4}, {-7, -1, 2, 7}}, one{{1, 4}, {1, 1, 1, 1}};
  const ValueSpec spec{DType::kFloat32, {4}, true};
  const auto slopes = [&](ActivationKind kind) {
    const Values y = run_op(ops::Activation(kind), {{spec, x}}, 1)[0];
    const Values& from = ops::derivative_from_output(kind) ? y : x;
    return run_op(ops::ActivationGradient(kind), {{spec, from}, {spec, one}}, 1)[0].data;
  };
  CHECK(slopes(ActivationKind::kRelu6) == std::vector<double>{0, 0, 1, 0});
  const auto sigmoid = slopes(ActivationKind::kHardSigmoid), silu = slopes(ActivationKind::kHardSilu);
  const double expected_sigmoid[] = {0, 1.0 / 6, 1.0 / 6, 0}, expected_silu[] = {0, 1.0 / 6, 7.0 / 6, 1};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(sigmoid[i] == doctest::Approx(expected_sigmoid[i]));
    CHECK(silu[i] == doctest::Approx(expected_silu[i]));
  }
}

TEST_CASE("add_n adds any number of inputs, first to last") {
  for (const DType dtype : kFloatTypes) {
    for (const int count : {1, 2, 5}) {
      const Case test{.name = fmt::format("add {} of {}", count, name_of(dtype)),
                      .op = std::make_shared<ops::AddN>(),
                      .inputs = std::vector<Operand>(static_cast<std::size_t>(count), batched(dtype, {401})),
                      .reference = sum_of,
                      .rows = {90, 1, 0}};
      check_forward(test);
      check_gradient(test, std::vector<bool>(static_cast<std::size_t>(count), true));
    }
  }
  // Not associative: only this order gives 1.
  const ValueSpec scalar{DType::kFloat32, {1}, true};
  CHECK(run_op(ops::AddN(), {{scalar, {{1, 1}, {1e8}}}, {scalar, {{1, 1}, {-1e8}}}, {scalar, {{1, 1}, {1}}}},
               1)[0][0] == 1);
}

TEST_CASE("cast rounds to nearest, ties to even") {
  for (const DType from : kFloatTypes) {
    for (const DType to : kFloatTypes) {
      const Case test{.name = fmt::format("{} to {}", name_of(from), name_of(to)),
                      .op = std::make_shared<ops::Cast>(to),
                      .inputs = {batched(from, {4, 9})},
                      .reference = [](const std::vector<Values>& inputs) { return std::vector<Values>{inputs[0]}; },
                      .tolerance = to == from ? 1e-9 : 4e-3};
      check_forward(test);
      check_gradient(test, {true});
    }
  }
  const Values x{{1, 3}, {1 + 1.0 / 256, 1 + 3.0 / 256, std::numeric_limits<double>::quiet_NaN()}};
  const Values y = run_op(ops::Cast(DType::kBfloat16), {{{DType::kFloat32, {3}, true}, x}}, 1)[0];
  CHECK(y[0] == 1);
  CHECK(y[1] == 1 + 2.0 / 128);
  CHECK(std::isnan(y[2]));
}

TEST_CASE("reshape shares the bytes and gives its gradient the old shape") {
  Graph graph;
  const ValueId x = graph.input("x", {DType::kFloat32, {2, 3, 4}, true});
  const ValueId y = graph.apply_one(ops::Reshape({4, 6}), {x});
  CHECK(graph.spec(y) == ValueSpec{DType::kFloat32, {4, 6}, true});
  const ValueId dy = graph.input("dy", graph.spec(y));
  const Node node = graph.nodes().back();
  CHECK(node.op->is_alias());
  const std::vector<ValueId> gradients = node.op->gradient(graph, node, std::vector{dy}, {true});
  CHECK(graph.spec(gradients[0]) == graph.spec(x));
  CHECK_THROWS_WITH(graph.apply_one(ops::Reshape({5, 5}), {x}),
                    "reshape: expected 25 elements for the shape [5, 5], found float32 [2, 3, 4] per row");
}

TEST_CASE("ops refuse inputs that do not fit, with both shapes") {
  Graph graph;
  const ValueId a = graph.input("a", {DType::kFloat32, {3}, true}), b = graph.input("b", {DType::kFloat32, {4}, true});
  const ValueId bytes = graph.input("bytes", {DType::kUint8, {4}, true});
  CHECK_THROWS_WITH(graph.apply_one(ops::AddN(), {a, b}),
                    "add_n: expected every input as float32 [3] per row, found float32 [4] per row");
  CHECK_THROWS_WITH(graph.apply_one(ops::Activation(ActivationKind::kRelu), {bytes}),
                    "activation: expected float32 or bfloat16, found uint8 [4] per row");
}

TEST_CASE("whole numbers become floats") {
  const Fill number = [](std::int64_t i, double) { return static_cast<double>(i * 1001 % 16777216); };
  check_forward({.name = "int32",
                 .op = std::make_shared<ops::Cast>(DType::kFloat32),
                 .inputs = {batched(DType::kInt32, {3}, number)},
                 .reference = [](const std::vector<Values>& inputs) { return inputs; }});
}

TEST_CASE("a row knows its place in the global batch") {
  check_forward({.name = "batch row",
                 .op = std::make_shared<ops::BatchRow>(14),
                 .inputs = {batched(DType::kFloat32, {2})},
                 .reference =
                     [](const std::vector<Values>& inputs) {
                       Values y = filled({inputs[0].rows(), 14});
                       for (std::int64_t row = 0; row < inputs[0].rows() && 11 + row < 14; ++row)
                         y[row * 14 + 11 + row] = 1;
                       return std::vector<Values>{y};
                     },
                 .rows = {3, 1, 0}});
}
