#include "graph/ops/combine.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "kernels/harness.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;
using ops::CombineKind;

namespace {

using Function = std::function<double(double, double)>;

Reference combined(const Shape& row, const Function& function) {
  return [=](const std::vector<Values>& inputs) {
    Values y = filled(row.with_rows(inputs[0].rows()));
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      y[i] = function(inputs[0][element_of(inputs[0].shape, y.shape, i)],
                      inputs[1][element_of(inputs[1].shape, y.shape, i)]);
    }
    return std::vector<Values>{y};
  };
}

const std::pair<CombineKind, Function> kKinds[] = {
    {CombineKind::kAdd, [](double a, double b) { return a + b; }},
    {CombineKind::kMultiply, [](double a, double b) { return a * b; }},
    {CombineKind::kMaximum, [](double a, double b) { return std::max(a, b); }},
    {CombineKind::kMinimum, [](double a, double b) { return std::min(a, b); }},
};

struct Shapes {
  Shape a, b;
};
const Shapes kShapes[] = {
    {{7}, {7}},
    {{3, 4, 17}, {3, 4, 17}},
    {{3, 4, 17}, {1, 1, 17}},
    {{1, 1, 17}, {3, 4, 17}},
    {{4, 5, 6}, {4, 5, 1}},
    {{2, 5, 24}, {2, 5, 24}},
    {{2, 5, 24}, {1, 1, 24}},
    {{2, 5, 24}, {2, 5, 1}},
    {{2, 1, 24}, {1, 5, 24}},
    {{4, 1, 6}, {1, 5, 1}},
    {{3, 2}, {1, 1}},
    {{2, 1, 3, 1, 2}, {1, 3, 1, 2, 1}},
};

}  // namespace

TEST_CASE("two tensors are added, multiplied and compared, stretched where they have one element") {
  for (const auto& [kind, function] : kKinds) {
    for (const DType dtype : kFloatTypes) {
      for (const Shapes& shapes : kShapes) {
        for (const bool batched_b : {true, false}) {
          const ops::Combine op(kind);
          const Shape y = ops::stretched("test", shapes.a, shapes.b);
          const Case test{.name = fmt::format("{} {} {} {} {}", op.name(), name_of(dtype), shapes.a.text(),
                                              shapes.b.text(), batched_b ? "per row" : "for all rows"),
                          .op = std::make_shared<ops::Combine>(op),
                          .inputs = {batched(dtype, shapes.a), batched_b ? batched(dtype, shapes.b) : fixed(shapes.b)},
                          .reference = combined(y, function)};
          check_forward(test);
          check_gradient(test, {true, true});
        }
      }
    }
  }
}

TEST_CASE("the maximum or minimum of equals is the first, and NaN stays") {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const ValueSpec spec{DType::kFloat32, {3}, true};
  const Values a{{1, 3}, {2, kNan, 1}}, b{{1, 3}, {2, 1, kNan}}, dy{{1, 3}, {5, 6, 7}};
  for (const CombineKind kind : {CombineKind::kMaximum, CombineKind::kMinimum}) {
    const Values y = run_op(ops::Combine(kind), {{spec, a}, {spec, b}}, 1)[0];
    CHECK(y[0] == 2);
    CHECK(std::isnan(y[1]));
    CHECK(std::isnan(y[2]));
    CHECK(run_op(ops::ChoiceGradient(kind, true), {{spec, dy}, {spec, a}, {spec, b}}, 1)[0][0] == 5);
    CHECK(run_op(ops::ChoiceGradient(kind, false), {{spec, dy}, {spec, a}, {spec, b}}, 1)[0][0] == 0);
  }
}

TEST_CASE("sums over axes match a reference in double") {
  struct SumCase {
    Shape x, sum;
    bool per_row;
  };
  for (const SumCase& c : {SumCase{{6, 7, 19}, {1, 1, 19}, true}, SumCase{{6, 7, 19}, {1, 1, 19}, false},
                           SumCase{{6, 7, 19}, {6, 1, 19}, true}, SumCase{{6, 7, 19}, {6, 7, 1}, true},
                           SumCase{{6, 7, 19}, {6, 7, 19}, false}, SumCase{{6, 7, 19}, {1, 1, 1}, false},
                           SumCase{{90, 70, 3}, {1, 1, 3}, false}, SumCase{{130}, {130}, false},
                           SumCase{{2, 3, 4, 5}, {2, 1, 4, 1}, false}}) {
    for (const DType dtype : kFloatTypes) {
      const Case test{.name = fmt::format("sum {} of {} to {}", name_of(dtype), c.x.text(), c.sum.text()),
                      .op = std::make_shared<ops::SumTo>(c.sum, c.per_row),
                      .inputs = {batched(dtype, c.x)},
                      .reference =
                          [&](const std::vector<Values>& inputs) {
                            Values sum = filled(c.per_row ? c.sum.with_rows(inputs[0].rows()) : c.sum);
                            for (std::int64_t i = 0; i < inputs[0].elements(); ++i) {
                              sum[element_of(sum.shape, inputs[0].shape, i)] += inputs[0][i];
                            }
                            return std::vector<Values>{sum};
                          },
                      .rows = {33, 1, 0}};
      check_forward(test);
    }
  }
}

TEST_CASE("sums over axes of what has no rows are of the same axes, and so is their gradient") {
  for (const Shape& sum : {Shape{1, 19}, Shape{7, 1}, Shape{1, 1}, Shape{7, 19}}) {
    const Case test{.name = fmt::format("sum without rows to {}", sum.text()),
                    .op = std::make_shared<ops::SumTo>(sum, false),
                    .inputs = {fixed({7, 19})},
                    .reference =
                        [&](const std::vector<Values>& inputs) {
                          Values all = filled(sum);
                          for (std::int64_t i = 0; i < inputs[0].elements(); ++i) {
                            all[element_of(sum, inputs[0].shape, i)] += inputs[0][i];
                          }
                          return std::vector<Values>{all};
                        },
                    .rows = {1}};
    check_forward(test);
    check_gradient(test, {true});
  }
}

TEST_CASE("scale multiplies by a number") {
  for (const DType dtype : kFloatTypes) {
    const Case test{.name = fmt::format("scale {}", name_of(dtype)),
                    .op = std::make_shared<ops::Scale>(-0.75f),
                    .inputs = {batched(dtype, {5, 67})},
                    .reference = [](const std::vector<Values>& inputs) {
                      Values y = inputs[0];
                      for (double& value : y.data) value *= -0.75;
                      return std::vector<Values>{y};
                    }};
    check_forward(test);
    check_gradient(test, {true});
  }
}

TEST_CASE("tensors that cannot be stretched to each other are refused with both shapes") {
  Graph graph;
  const ValueId a = graph.input("a", {DType::kFloat32, {3, 4}, true});
  const ValueId b = graph.input("b", {DType::kFloat32, {3, 2}, true});
  const ValueId c = graph.input("c", {DType::kFloat32, {4}, true});
  CHECK_THROWS_WITH(graph.apply_one(ops::Combine(CombineKind::kAdd), {a, b}),
                    "add: expected shapes that are equal, or 1, in every axis; found [3, 4] and [3, 2]");
  CHECK_THROWS_WITH(graph.apply_one(ops::Combine(CombineKind::kMultiply), {a, c}),
                    "multiply: expected float32 of 2 axes beside float32 [3, 4] per row, found float32 [4] per row");
  CHECK_THROWS(graph.apply_one(ops::SumTo({3, 3}, true), {a}));
}
