#include "graph/ops/pointwise.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "base/error.h"
#include "graph/ops/combine.h"
#include "kernels/harness.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;
using ops::PointwiseCode;
using ops::PointwiseFunction;

namespace {

using Function = std::function<double(const std::vector<double>&)>;

Reference of_elements(const Shape& row, const Function& function) {
  return [=](const std::vector<Values>& inputs) {
    std::int64_t rows = 0;
    for (const Values& input : inputs) {
      if (input.shape.rank() == row.rank() + 1) rows = input.rows();
    }
    Values y = filled(row.with_rows(rows));
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      std::vector<double> numbers;
      for (const Values& input : inputs) numbers.push_back(input[element_of(input.shape, y.shape, i)]);
      y[i] = function(numbers);
    }
    return std::vector<Values>{y};
  };
}

PointwiseFunction of_code(PointwiseCode code) {
  PointwiseFunction function(static_cast<std::size_t>(ops::operands_of(code)));
  const auto operand = [&](int i) {
    return i < ops::operands_of(code) ? function.input(static_cast<std::size_t>(i)) : PointwiseFunction::Operand{};
  };
  function.set_result(function.apply(code, operand(0), operand(1), operand(2)));
  return function;
}

double positive(std::int64_t, double uniform) { return 1.5 + uniform; }

struct CodeCase {
  PointwiseCode code;
  std::string_view name;
  Function function;
  bool is_of_positive = false;
};

const CodeCase kCodes[] = {
    {PointwiseCode::kNegate, "negate", [](const auto& v) { return -v[0]; }},
    {PointwiseCode::kAbs, "abs", [](const auto& v) { return std::fabs(v[0]); }},
    {PointwiseCode::kSign, "sign", [](const auto& v) { return v[0] > 0   ? 1.
                                                              : v[0] < 0 ? -1.
                                                                         : 0.; }},
    {PointwiseCode::kExp, "exp", [](const auto& v) { return std::exp(v[0]); }},
    {PointwiseCode::kExpm1, "expm1", [](const auto& v) { return std::expm1(v[0]); }},
    {PointwiseCode::kLog, "log", [](const auto& v) { return std::log(v[0]); }, true},
    {PointwiseCode::kLog1p, "log1p", [](const auto& v) { return std::log1p(v[0]); }, true},
    {PointwiseCode::kSqrt, "sqrt", [](const auto& v) { return std::sqrt(v[0]); }, true},
    {PointwiseCode::kRsqrt, "rsqrt", [](const auto& v) { return 1 / std::sqrt(v[0]); }, true},
    {PointwiseCode::kSquare, "square", [](const auto& v) { return v[0] * v[0]; }},
    {PointwiseCode::kSin, "sin", [](const auto& v) { return std::sin(v[0]); }},
    {PointwiseCode::kCos, "cos", [](const auto& v) { return std::cos(v[0]); }},
    {PointwiseCode::kTanh, "tanh", [](const auto& v) { return std::tanh(v[0]); }},
    {PointwiseCode::kSigmoid, "sigmoid", [](const auto& v) { return 1 / (1 + std::exp(-v[0])); }},
    {PointwiseCode::kRelu, "relu", [](const auto& v) { return std::max(v[0], 0.); }},
    {PointwiseCode::kSoftplus, "softplus", [](const auto& v) { return std::log1p(std::exp(v[0])); }},
    {PointwiseCode::kErf, "erf", [](const auto& v) { return std::erf(v[0]); }},
    {PointwiseCode::kNot, "not", [](const auto& v) { return v[0] == 0 ? 1. : 0.; }},
    {PointwiseCode::kAdd, "add", [](const auto& v) { return v[0] + v[1]; }},
    {PointwiseCode::kSubtract, "subtract", [](const auto& v) { return v[0] - v[1]; }},
    {PointwiseCode::kMultiply, "multiply", [](const auto& v) { return v[0] * v[1]; }},
    {PointwiseCode::kDivide, "divide", [](const auto& v) { return v[0] / v[1]; }, true},
    {PointwiseCode::kPower, "power", [](const auto& v) { return std::pow(v[0], v[1]); }, true},
    {PointwiseCode::kArctan2, "arctan2", [](const auto& v) { return std::atan2(v[0], v[1]); }, true},
    {PointwiseCode::kMaximum, "maximum", [](const auto& v) { return std::max(v[0], v[1]); }},
    {PointwiseCode::kMinimum, "minimum", [](const auto& v) { return std::min(v[0], v[1]); }},
    {PointwiseCode::kLess, "less", [](const auto& v) { return v[0] < v[1] ? 1. : 0.; }},
    {PointwiseCode::kLessEqual, "less_equal", [](const auto& v) { return v[0] <= v[1] ? 1. : 0.; }},
    {PointwiseCode::kEqual, "equal", [](const auto& v) { return v[0] == v[1] ? 1. : 0.; }},
    {PointwiseCode::kNotEqual, "not_equal", [](const auto& v) { return v[0] != v[1] ? 1. : 0.; }},
    {PointwiseCode::kAnd, "and", [](const auto& v) { return v[0] != 0 && v[1] != 0 ? 1. : 0.; }},
    {PointwiseCode::kOr, "or", [](const auto& v) { return v[0] != 0 || v[1] != 0 ? 1. : 0.; }},
    {PointwiseCode::kChain, "chain", [](const auto& v) { return v[0] * v[1]; }},
    {PointwiseCode::kWhere, "where", [](const auto& v) { return v[0] != 0 ? v[1] : v[2]; }},
};

bool has_gradient(PointwiseCode code) {
  switch (code) {
    case PointwiseCode::kSign:
    case PointwiseCode::kNot:
    case PointwiseCode::kLess:
    case PointwiseCode::kLessEqual:
    case PointwiseCode::kEqual:
    case PointwiseCode::kNotEqual:
    case PointwiseCode::kAnd:
    case PointwiseCode::kOr:
    case PointwiseCode::kChain: return false;  // what gradients themselves are made of
    default: return true;
  }
}

struct ShapeCase {
  Shape first, others;
  bool others_batched;
};

}  // namespace

TEST_CASE("every pointwise function matches a reference in double, and so does its gradient") {
  for (const CodeCase& c : kCodes) {
    for (const DType dtype : kFloatTypes) {
      for (const ShapeCase& shapes :
           {ShapeCase{{7, 51}, {7, 51}, true}, ShapeCase{{4, 1, 6}, {1, 5, 1}, true}, ShapeCase{{3, 5}, {5}, false},
            ShapeCase{{2, 3, 5}, {}, false}, ShapeCase{{}, {}, false}}) {
        const Fill fill = c.is_of_positive ? Fill(positive) : Fill();
        Case test{.name = fmt::format("{} {} {} {}", c.name, name_of(dtype), shapes.first.text(), shapes.others.text()),
                  .op = std::make_shared<ops::Pointwise>(of_code(c.code), dtype),
                  .inputs = {batched(dtype, shapes.first, fill)}};
        Shape y = shapes.first;
        for (int i = 1; i < ops::operands_of(c.code); ++i) {
          test.inputs.push_back(shapes.others_batched ? batched(dtype, shapes.others, fill)
                                                      : fixed(shapes.others, fill));
          y = ops::broadcast(y, shapes.others);
        }
        test.reference = of_elements(y, c.function);
        if (dtype == DType::kFloat32) test.tolerance = 4e-6;
        check_forward(test);
        if (!has_gradient(c.code)) continue;
        std::vector<bool> wanted(test.inputs.size(), true);
        wanted[0] = c.code != PointwiseCode::kWhere;
        check_gradient(test, wanted);
      }
    }
  }
}

TEST_CASE("a function of what has no rows has none, and neither has its gradient") {
  PointwiseFunction product(2);
  product.set_result(product.apply(PointwiseCode::kMultiply, product.input(0), product.input(1)));
  for (const auto& [a, b] :
       {std::pair{Shape{5, 9}, Shape{5, 9}}, {Shape{5, 9}, Shape{5, 1}}, {Shape{1, 9}, Shape{5, 1}}}) {
    const Case test{.name = fmt::format("product of {} and {} without rows", a.text(), b.text()),
                    .op = std::make_shared<ops::Pointwise>(product, DType::kFloat32),
                    .inputs = {fixed(a), fixed(b)},
                    .reference =
                        [](const std::vector<Values>& inputs) {
                          Values y = filled({5, 9});
                          for (std::int64_t i = 0; i < y.elements(); ++i) {
                            y[i] = inputs[0][element_of(inputs[0].shape, y.shape, i)] *
                                   inputs[1][element_of(inputs[1].shape, y.shape, i)];
                          }
                          return std::vector<Values>{y};
                        },
                    .rows = {1}};
    check_forward(test);
    check_gradient(test, {true, true});
  }
}

TEST_CASE("a long function of many inputs has exact gradients") {
  PointwiseFunction f(4);
  const auto a = f.input(0), b = f.input(1), c = f.input(2), d = f.input(3);
  const auto gate = f.apply(PointwiseCode::kSigmoid, f.apply(PointwiseCode::kMultiply, f.constant(1.7f), a));
  const auto bell = f.apply(PointwiseCode::kExp, f.apply(PointwiseCode::kNegate, f.apply(PointwiseCode::kSquare, b)));
  const auto left = f.apply(PointwiseCode::kMultiply, f.apply(PointwiseCode::kMultiply, a, gate), bell);
  const auto right = f.apply(PointwiseCode::kDivide, f.apply(PointwiseCode::kTanh, c),
                             f.apply(PointwiseCode::kAdd, f.constant(1), f.apply(PointwiseCode::kSquare, d)));
  f.set_result(f.apply(PointwiseCode::kSubtract, left, f.apply(PointwiseCode::kPower, right, f.constant(3))));
  for (const DType dtype : kFloatTypes) {
    const Case test{
        .name = fmt::format("long {}", name_of(dtype)),
        .op = std::make_shared<ops::Pointwise>(f, dtype),
        .inputs = {batched(dtype, {3, 40}), batched(dtype, {3, 40}), batched(dtype, {1, 40}), fixed({3, 1})},
        .reference = of_elements({3, 40}, [](const std::vector<double>& v) {
          const double gate_of = 1 / (1 + std::exp(-1.7f * v[0]));
          return v[0] * gate_of * std::exp(-v[1] * v[1]) - std::pow(std::tanh(v[2]) / (1 + v[3] * v[3]), 3);
        })};
    check_forward(test);
    check_gradient(test, {true, true, true, true});
  }
}

TEST_CASE("pointwise functions are right at the ends of their ranges") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::nan("");
  const ValueSpec spec{DType::kFloat32, {6}, true};
  const auto run = [&](PointwiseCode code, const std::vector<double>& numbers) {
    const Values x{{1, 6}, numbers};
    return run_op(ops::Pointwise(of_code(code), DType::kFloat32), {{spec, x}}, 1)[0].data;
  };
  const auto expect = [](const std::vector<double>& found, const std::vector<double>& expected) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CAPTURE(i);
      if (std::isnan(expected[i])) {
        CHECK(std::isnan(found[i]));
      } else if (std::isinf(expected[i])) {
        CHECK(found[i] == expected[i]);
      } else {
        CHECK(std::abs(found[i] - expected[i]) <= 2e-6 * std::abs(expected[i]) + 1e-12);
      }
    }
  };
  expect(run(PointwiseCode::kLog, {0, -1, kInfinity, kNan, 1e-40, 1}),
         {-kInfinity, kNan, kInfinity, kNan, std::log(1e-40), 0});
  expect(run(PointwiseCode::kLog1p, {-1, -2, kInfinity, kNan, 1e-20, 1e30}),
         {-kInfinity, kNan, kInfinity, kNan, 1e-20, std::log(1e30)});
  expect(run(PointwiseCode::kExpm1, {-200, 200, -kInfinity, kNan, 1e-20, 40}),
         {-1, kInfinity, -1, kNan, 1e-20, std::expm1(40)});
  const std::vector<double> turns = {100000.25, -12345.678, 3.1415927, 1.5707964, -1e-20, kInfinity};
  std::vector<double> sines, cosines;
  for (const double turn : turns) {
    const auto stored = static_cast<double>(static_cast<float>(turn));
    sines.push_back(std::sin(stored));
    cosines.push_back(std::cos(stored));
  }
  expect(run(PointwiseCode::kSin, turns), sines);
  expect(run(PointwiseCode::kCos, turns), cosines);
  expect(run(PointwiseCode::kErf, {3, -0.75, 0.7499, 1e-10, -kInfinity, kNan}),
         {std::erf(3), std::erf(-0.75), std::erf(static_cast<double>(0.7499f)), std::erf(static_cast<double>(1e-10f)),
          -1, kNan});
  expect(run(PointwiseCode::kRelu, {-1, 0, kNan, 2, -kInfinity, kInfinity}), {0, 0, kNan, 2, 0, kInfinity});
  expect(run(PointwiseCode::kSqrt, {0, -1, kInfinity, kNan, 4, 1}), {0, kNan, kInfinity, kNan, 2, 1});
}

TEST_CASE("a gradient that does not flow is zero whatever the derivative") {
  PointwiseFunction f(1);  // where(x > 0, log(x), 0)
  const auto x = f.input(0), zero = f.constant(0);
  const auto is_positive = f.apply(PointwiseCode::kLess, zero, x);
  f.set_result(f.apply(PointwiseCode::kWhere, is_positive, f.apply(PointwiseCode::kLog, x), zero));
  const PointwiseFunction derivative = f.derivative(0).without_unread_inputs();
  const ValueSpec spec{DType::kFloat32, {3}, true};
  const Values at{{1, 3}, {0, -1, 2}}, dy{{1, 3}, {1, 1, 1}};
  const Values dx = run_op(ops::Pointwise(derivative, DType::kFloat32), {{spec, at}, {spec, dy}}, 1)[0];
  CHECK(dx[0] == 0);
  CHECK(dx[1] == 0);
  CHECK(dx[2] == doctest::Approx(0.5));
}

TEST_CASE("a function holds no step twice and none that its result does not need") {
  PointwiseFunction f(1);
  const auto x = f.input(0);
  const auto once = f.apply(PointwiseCode::kTanh, x), again = f.apply(PointwiseCode::kTanh, x);
  CHECK(once == again);
  f.apply(PointwiseCode::kSin, x);
  const auto same = f.apply(PointwiseCode::kMultiply, f.constant(1), once);
  CHECK(same == once);
  f.set_result(f.apply(PointwiseCode::kAdd, once, again));
  CHECK(f.steps().size() == 2);
}

TEST_CASE("shapes that cannot be broadcast are refused") {
  CHECK(ops::broadcast({3, 1}, {4}) == Shape{3, 4});
  CHECK(ops::broadcast({}, {4}) == Shape{4});
  CHECK_THROWS_WITH_AS(ops::broadcast({3}, {4}),
                       "expected shapes that are equal, or 1, in every axis from the last on; found [3] and [4]",
                       Error);
}

TEST_CASE("the largest over axes matches a reference, and equals share its gradient") {
  for (const DType dtype : kFloatTypes) {
    for (const Shape& target : {Shape{1, 7, 19}, Shape{6, 1, 19}, Shape{6, 7, 1}, Shape{1, 1, 1}, Shape{6, 7, 19}}) {
      const Case test{.name = fmt::format("max {} to {}", name_of(dtype), target.text()),
                      .op = std::make_shared<ops::MaxTo>(target),
                      .inputs = {batched(dtype, {6, 7, 19})},
                      .reference = [&](const std::vector<Values>& inputs) {
                        Values y = filled(target.with_rows(inputs[0].rows()), -1e9);
                        for (std::int64_t i = 0; i < inputs[0].elements(); ++i) {
                          double& largest = y[element_of(y.shape, inputs[0].shape, i)];
                          largest = std::max(largest, inputs[0][i]);
                        }
                        return std::vector<Values>{y};
                      }};
      check_forward(test);
      if (dtype == DType::kFloat32) check_gradient(test, {true});
    }
  }
}

TEST_CASE("functions run in fewer steps give what their steps give one by one") {
  // Shapes of functions whose products with constants, factors and terms may be joined.
  PointwiseFunction fixed(3);
  const auto fixed_product =
      fixed.apply(PointwiseCode::kMultiply, fixed.apply(PointwiseCode::kExp, fixed.input(0)), fixed.input(1));
  const auto fixed_sum = fixed.apply(PointwiseCode::kAdd, fixed_product, fixed.input(2));
  fixed.set_result(fixed.apply(PointwiseCode::kMultiply, fixed.constant(3), fixed_sum));
  std::vector<PointwiseFunction> functions{fixed};
  std::uint32_t random = 7;
  const auto below = [&](std::size_t count) {
    random = random * 1664525u + 1013904223u;
    return (random >> 10) % count;
  };
  const PointwiseCode codes[] = {PointwiseCode::kMultiply, PointwiseCode::kMultiply, PointwiseCode::kAdd,
                                 PointwiseCode::kAdd,      PointwiseCode::kSubtract, PointwiseCode::kTanh,
                                 PointwiseCode::kSigmoid,  PointwiseCode::kNegate,   PointwiseCode::kMaximum};
  while (functions.size() < 2000) {
    PointwiseFunction f(3);
    std::vector<PointwiseFunction::Operand> known{f.input(0), f.input(1), f.input(2)};
    for (std::size_t i = 0; i < 2 + functions.size() % 9; ++i) {
      const PointwiseCode code = codes[below(std::size(codes))];
      const auto operand = [&] {
        if (below(4) == 0) return f.constant(static_cast<float>(below(7)) / 2 - 1.25f);
        return known[known.size() - 1 - below(std::min<std::size_t>(known.size(), 3))];
      };
      const auto a = operand(), b = operand();
      known.push_back(f.apply(code, a, b));
    }
    f.set_result(known.back());
    functions.push_back(std::move(f));
  }
  const ValueSpec spec{DType::kFloat32, {2}, true};
  const std::vector<Values> inputs = {{{1, 2}, {0.3, -1.1}}, {{1, 2}, {1.7, 0.4}}, {{1, 2}, {-0.6, 0.9}}};
  for (std::size_t number = 0; number < functions.size(); ++number) {
    const PointwiseFunction& f = functions[number];
    const Values found =
        run_op(ops::Pointwise(f, DType::kFloat32), {{spec, inputs[0]}, {spec, inputs[1]}, {spec, inputs[2]}}, 1)[0];
    for (std::int64_t element = 0; element < 2; ++element) {
      std::vector<double> steps;
      const auto value = [&](PointwiseFunction::Operand operand) {
        const auto index = static_cast<std::size_t>(operand.number);
        if (operand.kind == PointwiseFunction::Operand::Kind::kConstant) return static_cast<double>(f.value(operand));
        return operand.kind == PointwiseFunction::Operand::Kind::kInput ? inputs[index][element] : steps[index];
      };
      for (const ops::PointwiseStep& step : f.steps()) {
        std::vector<double> operands{value(step.a)};
        if (ops::operands_of(step.code) > 1) operands.push_back(value(step.b));
        const auto code = std::ranges::find(kCodes, step.code, &CodeCase::code);
        steps.push_back(code->function(operands));
      }
      const double expected = value(f.result());
      CAPTURE(number);
      REQUIRE(std::abs(found[element] - expected) <= 1e-5 * (1 + std::abs(expected)));
    }
  }
}
