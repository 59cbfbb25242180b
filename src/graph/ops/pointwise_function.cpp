#include "graph/ops/pointwise_function.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"

namespace mirrortrain::ops {
namespace {

using Code = PointwiseCode;
using Kind = PointwiseOperand::Kind;

std::array<PointwiseOperand*, 3> all_operands(PointwiseStep& step) { return {&step.a, &step.b, &step.c}; }

/// Calls visit(operand) for each of a step's.
template <class Visit>
void each_operand(PointwiseStep& step, const Visit& visit) {
  const std::array<PointwiseOperand*, 3> operands = all_operands(step);
  for (int i = 0; i < operands_of(step.code); ++i) visit(*operands[static_cast<std::size_t>(i)]);
}
template <class Visit>
void each_operand(const PointwiseStep& step, const Visit& visit) {
  PointwiseStep copy = step;
  each_operand(copy, [&](PointwiseOperand& operand) { visit(operand); });
}

/// What arithmetic on constants gives; NaN where it is no such.
float of_constants(Code code, float a, float b) {
  switch (code) {
    case Code::kNegate: return -a;
    case Code::kAdd: return a + b;
    case Code::kSubtract: return a - b;
    case Code::kMultiply: return a * b;
    case Code::kDivide: return a / b;
    default: return std::numeric_limits<float>::quiet_NaN();
  }
}

/// The derivative of a function's steps with respect to one input, as steps of another function that computes their
/// values too.
class Derivative {
 public:
  using Operand = PointwiseOperand;

  Derivative(const PointwiseFunction& of, std::size_t with_respect_to, PointwiseFunction& in)
      : of_(of), in_(in), zero_(in.constant(0)), one_(in.constant(1)) {
    for (std::size_t i = 0; i < of.inputs(); ++i) {
      inputs_.push_back({in.input(i), i == with_respect_to ? Slope{one_} : Slope{}});
    }
    for (const PointwiseStep& step : of.steps()) {
      const Both a = here(step.a), b = operands_of(step.code) > 1 ? here(step.b) : Both{},
                 c = operands_of(step.code) > 2 ? here(step.c) : Both{};
      const bool is_result = of.result() == Operand{Kind::kStep, static_cast<std::int32_t>(steps_.size())};
      const Operand y = is_result ? in.input(of.inputs() + 1) : in.apply(step.code, a.value, b.value, c.value);
      steps_.push_back({y, slope(step.code, a, b, c, y)});
    }
  }

  /// Of the result, times `gradient`.
  Operand times_gradient(Operand gradient) {
    const Slope slope = here(of_.result()).slope;
    return slope.is_zero() ? zero_ : op(Code::kChain, gradient, slope.value);
  }

 private:
  /// A derivative; one of number -1 is zero.
  struct Slope {
    Operand value{Kind::kStep, -1};
    bool is_cut = false;  ///< whether it is 0 where a choice fell on another operand
    bool is_zero() const { return value.number < 0; }
  };
  struct Both {
    Operand value;
    Slope slope;
  };

  Both here(Operand operand) {
    if (operand.kind == Kind::kConstant) return {in_.constant(of_.value(operand)), {}};
    return (operand.kind == Kind::kInput ? inputs_ : steps_)[static_cast<std::size_t>(operand.number)];
  }

  Operand op(Code code, Operand a, Operand b = {}, Operand c = {}) { return in_.apply(code, a, b, c); }
  Operand times(Operand a, Operand b) { return op(Code::kMultiply, a, b); }
  Operand number(float value) { return in_.constant(value); }

  /// The chain rule. Where no gradient flows the factor does not matter, also if it is infinite.
  Slope times(const Slope& inner, Operand outer) {
    if (inner.is_zero()) return {};
    return {inner.is_cut ? op(Code::kChain, inner.value, outer) : times(inner.value, outer), inner.is_cut};
  }
  Slope negated(const Slope& of) { return of.is_zero() ? Slope{} : Slope{op(Code::kNegate, of.value), of.is_cut}; }
  Slope plus(const Slope& a, const Slope& b) {
    if (a.is_zero() || b.is_zero()) return a.is_zero() ? b : a;
    return {op(Code::kAdd, a.value, b.value), a.is_cut && b.is_cut};
  }
  Slope chosen(Operand where, const Slope& a, const Slope& b) {
    if (a.is_zero() && b.is_zero()) return {};
    return {op(Code::kWhere, where, a.is_zero() ? zero_ : a.value, b.is_zero() ? zero_ : b.value), true};
  }

  /// Of a step with result `y`.
  Slope slope(Code code, const Both& a, const Both& b, const Both& c, Operand y) {
    if (a.slope.is_zero() && b.slope.is_zero() && c.slope.is_zero()) return {};
    const Operand x = a.value;
    switch (code) {
      case Code::kNegate: return negated(a.slope);
      case Code::kAbs: return times(a.slope, op(Code::kSign, x));
      case Code::kExp: return times(a.slope, y);
      case Code::kExpm1: return times(a.slope, op(Code::kAdd, y, one_));
      case Code::kLog: return times(a.slope, op(Code::kDivide, one_, x));
      case Code::kLog1p: return times(a.slope, op(Code::kDivide, one_, op(Code::kAdd, x, one_)));
      case Code::kSqrt: return times(a.slope, op(Code::kDivide, number(0.5f), y));
      case Code::kRsqrt: return times(a.slope, times(number(-0.5f), times(y, op(Code::kSquare, y))));
      case Code::kSquare: return times(a.slope, times(number(2), x));
      case Code::kSin: return times(a.slope, op(Code::kCos, x));
      case Code::kCos: return times(a.slope, op(Code::kNegate, op(Code::kSin, x)));
      case Code::kTanh: return times(a.slope, op(Code::kTanhSlope, y));
      case Code::kSigmoid: return times(a.slope, op(Code::kLogisticSlope, y));
      case Code::kRelu: return chosen(op(Code::kLess, zero_, x), a.slope, {});
      case Code::kSoftplus: return times(a.slope, op(Code::kSigmoid, x));
      case Code::kErf: {
        constexpr float kTwoOverRootPi = 1.12837916709551f;
        const Operand bell = op(Code::kExp, op(Code::kNegate, op(Code::kSquare, x)));
        return times(a.slope, times(number(kTwoOverRootPi), bell));
      }
      case Code::kWhere: return chosen(x, b.slope, c.slope);
      default: return slope_of_two(code, a, b, y);
    }
  }

  Slope slope_of_two(Code code, const Both& a, const Both& b, Operand y) {
    switch (code) {
      case Code::kAdd: return plus(a.slope, b.slope);
      case Code::kSubtract: return plus(a.slope, negated(b.slope));
      case Code::kMultiply: return plus(times(a.slope, b.value), times(b.slope, a.value));
      case Code::kDivide: {
        const Slope of_a = times(a.slope, op(Code::kDivide, one_, b.value));
        return plus(of_a, negated(times(b.slope, op(Code::kDivide, y, b.value))));
      }
      case Code::kArctan2: {
        const Operand squares = op(Code::kAdd, op(Code::kSquare, a.value), op(Code::kSquare, b.value));
        return plus(times(a.slope, op(Code::kDivide, b.value, squares)),
                    negated(times(b.slope, op(Code::kDivide, a.value, squares))));
      }
      case Code::kPower: return plus(slope_of_base(a, b), slope_of_exponent(a, b, y));
      case Code::kMaximum:
      case Code::kMinimum: {
        const bool larger = code == Code::kMaximum;
        const Operand is_a = op(Code::kLessEqual, larger ? b.value : a.value, larger ? a.value : b.value);
        return chosen(is_a, a.slope, b.slope);
      }
      default: return {};  // comparisons and logic
    }
  }

  Slope slope_of_base(const Both& a, const Both& b) {
    if (a.slope.is_zero()) return {};
    const Operand power = op(Code::kPower, a.value, op(Code::kSubtract, b.value, one_));
    const Slope slope = times(a.slope, times(b.value, power));
    if (b.value.kind == Kind::kConstant) return in_.value(b.value) == 0 ? Slope{} : slope;
    return chosen(op(Code::kEqual, b.value, zero_), {}, slope);
  }
  Slope slope_of_exponent(const Both& a, const Both& b, Operand y) {
    if (b.slope.is_zero()) return {};
    return chosen(op(Code::kLess, zero_, a.value), times(b.slope, times(y, op(Code::kLog, a.value))), {});
  }

  const PointwiseFunction& of_;
  PointwiseFunction& in_;
  std::vector<Both> inputs_, steps_;
  Operand zero_, one_;
};

}  // namespace

PointwiseOperand PointwiseFunction::constant(float value) {
  const auto same = [value](float known) { return std::memcmp(&known, &value, sizeof value) == 0; };
  const auto found = std::ranges::find_if(constants_, same);
  const auto number = static_cast<std::int32_t>(found - constants_.begin());
  if (found == constants_.end()) constants_.push_back(value);
  return {Kind::kConstant, number};
}

float PointwiseFunction::value(Operand operand) const {
  return operand.kind == Kind::kConstant ? constants_[static_cast<std::size_t>(operand.number)]
                                         : std::numeric_limits<float>::quiet_NaN();
}

/// What gives the same as the step; a step of number -1 where it must be computed.
PointwiseOperand PointwiseFunction::simplified(PointwiseCode code, Operand a, Operand b, Operand c) const {
  const Operand none{Kind::kStep, -1};
  switch (code) {
    case Code::kAdd:
      if (value(a) == 0) return b;
      return value(b) == 0 ? a : none;
    case Code::kSubtract: return value(b) == 0 ? a : none;
    case Code::kMultiply:
      if (value(a) == 1) return b;
      return value(b) == 1 ? a : none;
    case Code::kChain:
    case Code::kDivide:
    case Code::kPower: return value(b) == 1 ? a : none;
    case Code::kWhere: return b == c ? b : none;
    default: return none;
  }
}

PointwiseOperand PointwiseFunction::apply(PointwiseCode code, Operand a, Operand b, Operand c) {
  const Operand simpler = simplified(code, a, b, c);
  if (simpler.number >= 0) return simpler;
  const float folded = of_constants(code, value(a), operands_of(code) > 1 ? value(b) : 0);
  if (!std::isnan(folded)) return constant(folded);
  if (code == Code::kPower && value(b) == 2) return apply(Code::kSquare, a);
  if (code == Code::kPower && value(b) == 3) return apply(Code::kMultiply, apply(Code::kSquare, a), a);
  if (code == Code::kPower && value(b) == 0.5f) return apply(Code::kSqrt, a);
  if (code == Code::kPower && value(b) == -1) return apply(Code::kDivide, constant(1), a);
  const PointwiseStep step{code, a, operands_of(code) > 1 ? b : Operand{}, operands_of(code) > 2 ? c : Operand{}};
  const auto found = std::ranges::find(steps_, step);
  const auto number = static_cast<std::int32_t>(found - steps_.begin());
  if (found == steps_.end()) steps_.push_back(step);
  return {Kind::kStep, number};
}

PointwiseOperand PointwiseFunction::call(const PointwiseFunction& function, const std::vector<Operand>& arguments) {
  std::vector<Operand> values;
  const auto here = [&](Operand operand) {
    if (operand.kind == Kind::kConstant) return constant(function.value(operand));
    return (operand.kind == Kind::kInput ? arguments : values)[static_cast<std::size_t>(operand.number)];
  };
  for (const PointwiseStep& step : function.steps()) {
    const int operands = operands_of(step.code);
    values.push_back(apply(step.code, here(step.a), operands > 1 ? here(step.b) : Operand{},
                           operands > 2 ? here(step.c) : Operand{}));
  }
  return here(function.result());
}

void PointwiseFunction::set_result(Operand result) {
  result_ = result;
  std::vector<bool> is_read(steps_.size(), false);
  const auto note = [&](Operand operand) {
    if (operand.kind == Kind::kStep) is_read[static_cast<std::size_t>(operand.number)] = true;
  };
  note(result);
  for (std::size_t i = steps_.size(); i-- > 0;) {
    if (is_read[i]) each_operand(steps_[i], note);
  }
  // What remains is numbered anew, constants in the order in which they are read.
  std::vector<std::int32_t> renumbered(steps_.size(), -1);
  std::vector<PointwiseStep> kept;
  const std::vector<float> known = std::move(constants_);
  constants_.clear();
  const auto rename = [&](Operand& operand) {
    if (operand.kind == Kind::kStep) operand.number = renumbered[static_cast<std::size_t>(operand.number)];
    if (operand.kind == Kind::kConstant) operand = constant(known[static_cast<std::size_t>(operand.number)]);
  };
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (!is_read[i]) continue;
    renumbered[i] = static_cast<std::int32_t>(kept.size());
    kept.push_back(steps_[i]);
    each_operand(kept.back(), rename);
  }
  steps_ = std::move(kept);
  rename(result_);
}

bool PointwiseFunction::reads(std::size_t number) const {
  bool found = result_ == input(number);
  for (const PointwiseStep& step : steps_) {
    each_operand(step, [&](Operand operand) { found = found || operand == input(number); });
  }
  return found;
}

PointwiseFunction PointwiseFunction::derivative(std::size_t number) const {
  PointwiseFunction made(inputs_ + 2);
  made.set_result(Derivative(*this, number, made).times_gradient(made.input(inputs_)));
  return made;
}

PointwiseFunction PointwiseFunction::without_unread_inputs() const {
  PointwiseFunction made = *this;
  std::vector<std::int32_t> renumbered(inputs_, 0);
  made.inputs_ = 0;
  for (std::size_t i = 0; i < inputs_; ++i) {
    if (reads(i)) renumbered[i] = static_cast<std::int32_t>(made.inputs_++);
  }
  const auto rename = [&](Operand& operand) {
    if (operand.kind == Kind::kInput) operand.number = renumbered[static_cast<std::size_t>(operand.number)];
  };
  for (PointwiseStep& step : made.steps_) each_operand(step, rename);
  rename(made.result_);
  return made;
}

}  // namespace mirrortrain::ops
