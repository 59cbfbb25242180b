#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/error.h"
#include "base/host_device.h"
#include "graph/ops/pointwise.h"
#include "kernels/scalar/math.h"
#include "kernels/scalar/walk.h"

// The arithmetic of ops::Pointwise, for all devices. Unlike math.h's functions, these are right for every number.
namespace mirrortrain::scalar {

struct Negate {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a) const { return -a; }
};
struct Abs {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a) const { return std::fabs(a); }
};
/// NaN stays, and so does the sign of 0.
struct Sign {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a) const { return a > 0.0f ? 1.0f : a < 0.0f ? -1.0f : a; }
};
struct Exp {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a) const { return scalar::exp(a); }
};
struct Expm1 {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a) const {
    const auto [n, r] = reduce_exponent(a < -30.0f ? -30.0f : a > 30.0f ? 30.0f : a);
    const float power = power_of_two<float>(n);
    const float near = power * exp_minus_one_near_zero(r) + (power - 1.0f);
    return a > 30.0f ? scalar::exp(a) : near;
  }
};
struct Log {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a) const {
    constexpr float kSmallest = std::numeric_limits<float>::min(), kInfinity = std::numeric_limits<float>::infinity(),
                    kNan = std::numeric_limits<float>::quiet_NaN();
    const bool is_small = a < kSmallest;  // subnormal: times 2^24
    const float log = scalar::log(is_small ? a * 16777216.0f : a) - (is_small ? 16.6355324f : 0.0f);
    const float positive = a < kInfinity ? log : a;  // NaN, too, stays
    return a > 0.0f ? positive : a == 0.0f ? -kInfinity : a < 0.0f ? kNan : a;
  }
};
struct Log1p {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a) const {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const float sum = 1.0f + a, lost = a - (sum - 1.0f), log = Log()(sum);
    return sum > 0.0f && sum < kInfinity ? log + lost / sum : log;
  }
};
struct Sqrt {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a) const { return std::sqrt(a); }
};
struct Rsqrt {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a) const { return 1.0f / std::sqrt(a); }
};
struct Square {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a) const { return a * a; }
};
struct Sin {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a) const { return std::sin(a); }
};
struct Cos {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a) const { return std::cos(a); }
};
struct HyperbolicTangent {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a) const { return scalar::tanh(a); }
};
struct Logistic {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a) const { return scalar::sigmoid(a); }
};
/// NaN stays.
struct Rectified {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a) const { return a < 0.0f ? 0.0f : a; }
};
struct LogOnePlusExp {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a) const { return scalar::softplus(a); }
};
struct Erf {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a) const { return std::erf(a); }
};
struct Not {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a) const { return a == 0.0f ? 1.0f : 0.0f; }
};

struct Plus2 {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a, float b) const { return a + b; }
};
struct Minus {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a, float b) const { return a - b; }
};
struct Times {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a, float b) const { return a * b; }
};
struct Over {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a, float b) const { return a / b; }
};
struct Power {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a, float b) const { return std::pow(a, b); }
};
/// A NaN on either side stays.
struct Larger {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a, float b) const { return a >= b || a != a ? a : b; }
};
struct Smaller {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a, float b) const { return a <= b || a != a ? a : b; }
};
struct Less {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a, float b) const { return a < b ? 1.0f : 0.0f; }
};
struct LessEqual {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a, float b) const { return a <= b ? 1.0f : 0.0f; }
};
struct Equal {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a, float b) const { return a == b ? 1.0f : 0.0f; }
};
struct NotEqual {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a, float b) const { return a != b ? 1.0f : 0.0f; }
};
struct And {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a, float b) const { return a != 0.0f && b != 0.0f ? 1.0f : 0.0f; }
};
struct Or {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a, float b) const { return a != 0.0f || b != 0.0f ? 1.0f : 0.0f; }
};
struct Chain {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a, float b) const { return a == 0.0f ? 0.0f : a * b; }
};

/// Calls function(functor) with that of `code`, which has one operand.
template <class Function>
MIRRORTRAIN_DEVICE void with_code_of_one(ops::PointwiseCode code, const Function& function) {
  switch (code) {
    case ops::PointwiseCode::kNegate: return function(Negate());
    case ops::PointwiseCode::kAbs: return function(Abs());
    case ops::PointwiseCode::kSign: return function(Sign());
    case ops::PointwiseCode::kExp: return function(Exp());
    case ops::PointwiseCode::kExpm1: return function(Expm1());
    case ops::PointwiseCode::kLog: return function(Log());
    case ops::PointwiseCode::kLog1p: return function(Log1p());
    case ops::PointwiseCode::kSqrt: return function(Sqrt());
    case ops::PointwiseCode::kRsqrt: return function(Rsqrt());
    case ops::PointwiseCode::kSquare: return function(Square());
    case ops::PointwiseCode::kSin: return function(Sin());
    case ops::PointwiseCode::kCos: return function(Cos());
    case ops::PointwiseCode::kTanh: return function(HyperbolicTangent());
    case ops::PointwiseCode::kSigmoid: return function(Logistic());
    case ops::PointwiseCode::kRelu: return function(Rectified());
    case ops::PointwiseCode::kSoftplus: return function(LogOnePlusExp());
    case ops::PointwiseCode::kErf: return function(Erf());
    default: return function(Not());
  }
}

/// The same for two operands.
template <class Function>
MIRRORTRAIN_DEVICE void with_code_of_two(ops::PointwiseCode code, const Function& function) {
  switch (code) {
    case ops::PointwiseCode::kAdd: return function(Plus2());
    case ops::PointwiseCode::kSubtract: return function(Minus());
    case ops::PointwiseCode::kMultiply: return function(Times());
    case ops::PointwiseCode::kDivide: return function(Over());
    case ops::PointwiseCode::kPower: return function(Power());
    case ops::PointwiseCode::kMaximum: return function(Larger());
    case ops::PointwiseCode::kMinimum: return function(Smaller());
    case ops::PointwiseCode::kLess: return function(Less());
    case ops::PointwiseCode::kLessEqual: return function(LessEqual());
    case ops::PointwiseCode::kEqual: return function(Equal());
    case ops::PointwiseCode::kNotEqual: return function(NotEqual());
    case ops::PointwiseCode::kAnd: return function(And());
    case ops::PointwiseCode::kOr: return function(Or());
    default: return function(Chain());
  }
}

/// A PointwiseFunction as a kernel runs it: results lie in a few slots, each free again after its last reader. A
/// kernel's parameter.
struct PointwiseProgram {
  static constexpr int kMostSlots = 64;
  /// Which operand a number means: a slot, then constants, then inputs.
  static constexpr int kFirstConstant = kMostSlots;
  static constexpr int kFirstInput = kFirstConstant + static_cast<int>(ops::Pointwise::kMostConstants);
  struct Step {
    ops::PointwiseCode code;
    std::uint8_t to;  ///< a slot
    std::uint8_t a, b, c;
  };

  int steps = 0, slots = 0, inputs = 0;
  std::uint8_t result = 0;
  Step step[ops::Pointwise::kMostSteps] = {};
  float constant[ops::Pointwise::kMostConstants] = {};

  PointwiseProgram() = default;
  /// Throws Error where it needs too many slots.
  explicit PointwiseProgram(const ops::PointwiseFunction& function);
};

inline PointwiseProgram::PointwiseProgram(const ops::PointwiseFunction& function)
    : steps(static_cast<int>(function.steps().size())), inputs(static_cast<int>(function.inputs())) {
  using Operand = ops::PointwiseOperand;
  const std::vector<ops::PointwiseStep>& of = function.steps();
  for (std::size_t i = 0; i < function.constants().size(); ++i) constant[i] = function.constants()[i];
  std::vector<std::size_t> last_reader(of.size(), 0);
  for (std::size_t i = 0; i < of.size(); ++i) {
    for (const Operand& read : {of[i].a, of[i].b, of[i].c}) {
      if (read.kind == Operand::Kind::kStep) last_reader[static_cast<std::size_t>(read.number)] = i;
    }
  }
  if (function.result().kind == Operand::Kind::kStep) {
    last_reader[static_cast<std::size_t>(function.result().number)] = of.size();
  }
  std::vector<std::uint8_t> slot_of(of.size(), 0);
  std::vector<std::uint8_t> free;
  const auto place = [&](const Operand& operand) {
    const auto number = static_cast<std::size_t>(operand.number);
    if (operand.kind == Operand::Kind::kStep) return slot_of[number];
    const int first = operand.kind == Operand::Kind::kInput ? kFirstInput : kFirstConstant;
    return static_cast<std::uint8_t>(first + operand.number);
  };
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (free.empty()) {
      if (slots == kMostSlots) throw Error("pointwise: the function needs too many intermediate results");
      free.push_back(static_cast<std::uint8_t>(slots++));
    }
    slot_of[i] = free.back();  // not one of those that the step reads, so that they may be read after it is written
    free.pop_back();
    step[i] = {of[i].code, slot_of[i], place(of[i].a), place(of[i].b), place(of[i].c)};
    for (std::size_t earlier = 0; earlier <= i; ++earlier) {
      if (last_reader[earlier] == i && earlier != i) free.push_back(slot_of[earlier]);
    }
  }
  result = place(function.result());
}

/// Where the input's element is, by the output's element: it has the output's axes or, without rows, fewer.
inline Walk<1> walk_of_input(const Shape& input, const Shape& output) {
  return {output, {stretched_strides(input, output)}};
}

/// Whether the walk goes through a tensor from the first element to the last.
inline bool is_dense(const Walk<1>& walk) { return walk.axes == 1 && (walk.stride[0][0] == 1 || walk.count == 1); }

}  // namespace mirrortrain::scalar
