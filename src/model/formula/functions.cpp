#include "model/formula/functions.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace mirrortrain::formula {
namespace {

using Code = ops::PointwiseCode;
using enum FunctionKind;

constexpr Function of_one(std::string_view name, Code code) { return {name, kPointwise, 1, 1, code}; }
constexpr Function of_two(std::string_view name, Code code) { return {name, kPointwise, 2, 2, code}; }
constexpr Function written_as(std::string_view name, Code code, std::size_t operands = 2) {
  return {name, kPointwise, operands, operands, code, true};
}

constexpr auto kFunctions = std::to_array<Function>({
    of_one("abs", Code::kAbs),
    of_one("sign", Code::kSign),
    of_one("exp", Code::kExp),
    of_one("expm1", Code::kExpm1),
    of_one("log", Code::kLog),
    of_one("log1p", Code::kLog1p),
    of_one("sqrt", Code::kSqrt),
    of_one("rsqrt", Code::kRsqrt),
    of_one("square", Code::kSquare),
    of_one("sin", Code::kSin),
    of_one("cos", Code::kCos),
    of_one("tanh", Code::kTanh),
    of_one("sigmoid", Code::kSigmoid),
    of_one("relu", Code::kRelu),
    of_one("softplus", Code::kSoftplus),
    of_one("erf", Code::kErf),
    of_two("minimum", Code::kMinimum),
    of_two("maximum", Code::kMaximum),
    {"clip", kPointwise, 3, 3},
    {"where", kPointwise, 3, 3, Code::kWhere},
    {"sum", kReduction},
    {"mean", kReduction},
    {"max", kReduction},
    {"min", kReduction},
    {"logsumexp", kReduction},
    {"softmax", kAlongAxis},
    {"matmul", kMatmul, 2, 2},
    {"concatenate", kConcatenate, 1, 64},
    written_as("+", Code::kAdd),
    written_as("-", Code::kSubtract),
    written_as("*", Code::kMultiply),
    written_as("/", Code::kDivide),
    written_as("**", Code::kPower),
    written_as("<", Code::kLess),
    written_as("<=", Code::kLessEqual),
    written_as("==", Code::kEqual),
    written_as("!=", Code::kNotEqual),
    written_as("and", Code::kAnd),
    written_as("or", Code::kOr),
    written_as("not", Code::kNot, 1),
    written_as("negative", Code::kNegate, 1),
});

}  // namespace

const Function* find_function(std::string_view name) {
  const auto found = std::ranges::find(kFunctions, name, &Function::name);
  return found != kFunctions.end() ? &*found : nullptr;
}

std::vector<std::string> function_names() {
  std::vector<std::string> names;
  for (const Function& function : kFunctions) {
    if (!function.is_operator) names.emplace_back(function.name);
  }
  return names;
}

}  // namespace mirrortrain::formula
