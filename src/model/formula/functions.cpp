#include "model/formula/functions.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

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
    of_two("arctan2", Code::kArctan2),
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

/// What other programs call a function.
constexpr auto kAliases = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"abs", "absolute, fabs"},
    {"log", "ln"},
    {"sum", "reduce_sum"},
    {"mean", "reduce_mean, average"},
    {"max", "reduce_max, amax"},
    {"min", "reduce_min, amin"},
    {"logsumexp", "reduce_logsumexp, log_sum_exp"},
    {"clip", "clip_by_value, clamp"},
    {"where", "select, cond"},
    {"sigmoid", "logistic"},
    {"arctan2", "atan2"},
    {"matmul", "dot"},
    {"concatenate", "concat, cat"},
});

constexpr auto kAdvice = std::to_array<config::Advice>(
    {{"pow, power", "a power is written a ** b"},
     {"add, subtract, multiply, divide, true_divide", "it is written by its sign: a + b, a - b, a * b, a / b"},
     {"negative, neg", "write -x"},
     {"reciprocal", "write 1 / x"},
     {"equal, less, greater, less_equal, greater_equal, not_equal",
      "it is written by its sign, a == b, a < b, a >= b, and is 1 or 0"},
     {"logical_and, logical_or, logical_not", "it is written as a word: a and b, a or b, not a"},
     {"silu, swish", "write x * sigmoid(x)"},
     {"gelu", "write 0.5 * x * (1 + erf(x / sqrt(2)))"},
     {"mish", "write x * tanh(softplus(x))"},
     {"elu", "write where(x > 0, x, expm1(minimum(x, 0)))"},
     {"leaky_relu", "write maximum(x, 0.2 * x), with the slope below 0"},
     {"hard_sigmoid", "write clip(x / 6 + 0.5, 0, 1)"},
     {"log_softmax", "write x - logsumexp(x, axis=-1, keepdims=true)"},
     {"log10", "write log(x) / log(10)"},
     {"log2", "write log(x) / log(2)"},
     {"tan", "write sin(x) / cos(x)"},
     {"cosh", "write (exp(x) + exp(-x)) / 2"},
     {"sinh", "write (exp(x) - exp(-x)) / 2"},
     {"norm", "write sqrt(sum(square(x), axis=-1) + 1e-12)"},
     {"var, variance, reduce_variance", "write mean(square(x - mean(x, axis=-1, keepdims=true)), axis=-1)"},
     {"std, reduce_std", "write sqrt(mean(square(x - mean(x, axis=-1, keepdims=true)), axis=-1) + 1e-12)"},
     {"expand_dims, unsqueeze", "write x[..., None] or x[None]"},
     {"cast, float, tensor, convert_to_tensor", "all numbers are float32; leave it out"},
     {"transpose, reshape, squeeze", "a formula keeps the order of axes; the layers permute and reshape change it"}});

}  // namespace

const Function* find_function(std::string_view name) {
  const auto found = std::ranges::find(kFunctions, name, &Function::name);
  return found != kFunctions.end() ? &*found : nullptr;
}

std::vector<config::Name> function_names() {
  std::vector<config::Name> names;
  for (const Function& function : kFunctions) {
    if (function.is_operator) continue;
    const auto known =
        std::ranges::find(kAliases, function.name, &std::pair<std::string_view, std::string_view>::first);
    names.push_back({std::string(function.name), known != kAliases.end() ? known->second : ""});
  }
  return names;
}

std::string advice_on_function(std::string_view name) { return config::advice_on(name, kAdvice); }

}  // namespace mirrortrain::formula
