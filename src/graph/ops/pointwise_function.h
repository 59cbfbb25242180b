#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/host_device.h"

namespace mirrortrain::ops {

/// One arithmetic operation on numbers. Comparisons and logic give 1 or 0, and take what is not 0 for true.
enum class PointwiseCode : std::uint8_t {
  // of a
  kNegate,
  kAbs,
  kSign,
  kExp,
  kExpm1,
  kLog,
  kLog1p,
  kSqrt,
  kRsqrt,
  kSquare,
  kSin,
  kCos,
  kTanh,
  kSigmoid,
  kRelu,
  kSoftplus,
  kErf,
  kNot,
  kLogisticSlope,  ///< a (1 - a): sigmoid's derivative from its result
  kTanhSlope,      ///< 1 - a^2: tanh's
  // of a and b
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kPower,
  kArctan2,  ///< the angle of the point (b, a)
  kMaximum,
  kMinimum,
  kLess,
  kLessEqual,
  kEqual,
  kNotEqual,
  kAnd,
  kOr,
  kChain,  ///< a b, and 0 where a is 0, whatever b: a gradient that does not flow, times a derivative
  // of a, b and c
  kWhere,        ///< b where a, else c
  kMultiplyAdd,  ///< a b + c
};

/// How many operands an operation has.
MIRRORTRAIN_HOST_DEVICE constexpr int operands_of(PointwiseCode code) {
  if (code >= PointwiseCode::kWhere) return 3;
  return code < PointwiseCode::kAdd ? 1 : 2;
}

/// What an operation of a function reads: an input, a constant or the result of an earlier step.
struct PointwiseOperand {
  enum class Kind : std::uint8_t { kInput, kConstant, kStep };
  Kind kind = Kind::kConstant;
  std::int32_t number = 0;
  friend bool operator==(const PointwiseOperand&, const PointwiseOperand&) = default;
};

struct PointwiseStep {
  PointwiseCode code;
  PointwiseOperand a, b, c;  ///< as many as operands_of(code)
  friend bool operator==(const PointwiseStep&, const PointwiseStep&) = default;
};

/// A function of one number of each of several tensors, as steps that are computed in their order in float32. Gradients
/// do not flow through comparisons and logic; where both operands of a maximum or minimum are equal, a gets it.
class PointwiseFunction {
 public:
  using Operand = PointwiseOperand;

  explicit PointwiseFunction(std::size_t inputs) : inputs_(inputs) {}

  Operand input(std::size_t number) const { return {Operand::Kind::kInput, static_cast<std::int32_t>(number)}; }
  Operand constant(float value);
  /// Adds a step; an equal one, a constant or an operand in its place where that is the same.
  Operand apply(PointwiseCode code, Operand a, Operand b = {}, Operand c = {});
  /// Adds the steps of another function of as many inputs as `arguments`; returns its result here.
  Operand call(const PointwiseFunction& function, const std::vector<Operand>& arguments);
  /// Ends the function: what it gives. Steps on which that does not depend are removed.
  void set_result(Operand result);

  std::size_t inputs() const { return inputs_; }
  const std::vector<float>& constants() const { return constants_; }
  const std::vector<PointwiseStep>& steps() const { return steps_; }
  Operand result() const { return result_; }

  /// The value of an operand if it is a constant; else NaN.
  float value(Operand operand) const;
  bool reads(std::size_t input) const;
  /// The derivative with respect to an input, times the gradient of the result: a function of two inputs more, that
  /// gradient and the result.
  PointwiseFunction derivative(std::size_t input) const;
  /// The same function without the inputs that it does not read.
  PointwiseFunction without_unread_inputs() const;

 private:
  Operand simplified(PointwiseCode code, Operand a, Operand b, Operand c) const;

  std::size_t inputs_;
  std::vector<float> constants_;
  std::vector<PointwiseStep> steps_;
  Operand result_;
};

}  // namespace mirrortrain::ops
