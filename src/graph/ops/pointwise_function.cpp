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

/// The derivatives of one function, as steps of another that computes its values first.
class Derivatives {
 public:
  using Operand = PointwiseOperand;

  Derivatives(const PointwiseFunction& of, PointwiseFunction& in) : in_(in), of_step_(of.steps().size()) {
    for (std::size_t i = 0; i < of.inputs(); ++i) inputs_.push_back(in.input(i));
    for (const PointwiseStep& step : of.steps()) {
      const int operands = operands_of(step.code);
      values_.push_back(in.apply(step.code, here(of, step.a), operands > 1 ? here(of, step.b) : Operand{},
                                 operands > 2 ? here(of, step.c) : Operand{}));
    }
    zero_ = in.constant(0);
    one_ = in.constant(1);
    of_input_.assign(of.inputs(), zero_);
    std::ranges::fill(of_step_, zero_);
    if (of.result().kind == Kind::kConstant) return;
    add(of.result(), in.input(of.inputs()));
    for (std::size_t i = of.steps().size(); i-- > 0;) {
      if (of_step_[i] != zero_) add_terms(of, of.steps()[i], values_[i], of_step_[i]);
    }
  }

  Operand of_input(std::size_t number) const { return of_input_[number]; }

 private:
  Operand here(const PointwiseFunction& of, Operand operand) {
    if (operand.kind == Kind::kConstant) return in_.constant(of.value(operand));
    const auto number = static_cast<std::size_t>(operand.number);
    return operand.kind == Kind::kInput ? inputs_[number] : values_[number];
  }

  Operand op(Code code, Operand a, Operand b = {}, Operand c = {}) { return in_.apply(code, a, b, c); }
  Operand times(Operand a, Operand b) { return op(Code::kMultiply, a, b); }
  Operand number(float value) { return in_.constant(value); }

  /// Adds a term to the gradient of an operand of the function.
  void add(Operand operand, Operand term) {
    if (operand.kind == Kind::kConstant) return;
    Operand& sum = (operand.kind == Kind::kInput ? of_input_ : of_step_)[static_cast<std::size_t>(operand.number)];
    sum = sum == zero_ ? term : op(Code::kAdd, sum, term);
  }

  /// `y`: the step's value; `dy`: its gradient.
  void add_terms(const PointwiseFunction& of, const PointwiseStep& step, Operand y, Operand dy) {
    const Operand a = here(of, step.a);
    const auto chain = [&](Operand slope) { add(step.a, op(Code::kChain, dy, slope)); };
    switch (step.code) {
      case Code::kNegate: return add(step.a, op(Code::kNegate, dy));
      case Code::kAbs: return chain(op(Code::kSign, a));
      case Code::kExp: return chain(y);
      case Code::kExpm1: return chain(op(Code::kAdd, y, one_));
      case Code::kLog: return chain(op(Code::kDivide, one_, a));
      case Code::kLog1p: return chain(op(Code::kDivide, one_, op(Code::kAdd, a, one_)));
      case Code::kSqrt: return chain(op(Code::kDivide, number(0.5f), y));
      case Code::kRsqrt: return chain(times(number(-0.5f), times(y, op(Code::kSquare, y))));
      case Code::kSquare: return chain(times(number(2), a));
      case Code::kSin: return chain(op(Code::kCos, a));
      case Code::kCos: return chain(op(Code::kNegate, op(Code::kSin, a)));
      case Code::kTanh: return chain(op(Code::kSubtract, one_, op(Code::kSquare, y)));
      case Code::kSigmoid: return chain(times(y, op(Code::kSubtract, one_, y)));
      case Code::kRelu: return add(step.a, op(Code::kWhere, op(Code::kLess, zero_, a), dy, zero_));
      case Code::kSoftplus: return chain(op(Code::kSigmoid, a));
      case Code::kErf: {
        constexpr float kTwoOverRootPi = 1.12837916709551f;
        return chain(times(number(kTwoOverRootPi), op(Code::kExp, op(Code::kNegate, op(Code::kSquare, a)))));
      }
      case Code::kSign:
      case Code::kNot: return;
      default: return add_terms_of_two(of, step, y, dy);
    }
  }

  void add_terms_of_two(const PointwiseFunction& of, const PointwiseStep& step, Operand y, Operand dy) {
    const Operand a = here(of, step.a), b = here(of, step.b);
    switch (step.code) {
      case Code::kAdd:
        add(step.a, dy);
        return add(step.b, dy);
      case Code::kSubtract:
        add(step.a, dy);
        return add(step.b, op(Code::kNegate, dy));
      case Code::kMultiply:
      case Code::kChain:
        add(step.a, op(Code::kChain, dy, b));
        return add(step.b, op(Code::kChain, dy, a));
      case Code::kDivide:
        add(step.a, op(Code::kChain, dy, op(Code::kDivide, one_, b)));
        return add(step.b, op(Code::kChain, dy, op(Code::kNegate, op(Code::kDivide, y, b))));
      case Code::kPower:
        if (step.a.kind != Kind::kConstant) {
          const Operand slope = times(b, op(Code::kPower, a, op(Code::kSubtract, b, one_)));
          add(step.a, op(Code::kWhere, op(Code::kEqual, b, zero_), zero_, op(Code::kChain, dy, slope)));
        }
        if (step.b.kind != Kind::kConstant) {
          const Operand slope = times(y, op(Code::kLog, a));
          add(step.b, op(Code::kWhere, op(Code::kLess, zero_, a), op(Code::kChain, dy, slope), zero_));
        }
        return;
      case Code::kMaximum:
      case Code::kMinimum: {
        const bool larger = step.code == Code::kMaximum;
        const Operand is_a = op(Code::kLessEqual, larger ? b : a, larger ? a : b);
        add(step.a, op(Code::kWhere, is_a, dy, zero_));
        return add(step.b, op(Code::kWhere, is_a, zero_, dy));
      }
      case Code::kWhere:
        add(step.b, op(Code::kWhere, a, dy, zero_));
        return add(step.c, op(Code::kWhere, a, zero_, dy));
      default: return;  // comparisons and logic
    }
  }

  PointwiseFunction& in_;
  std::vector<Operand> inputs_, values_;  ///< the function's, in `in_`
  std::vector<Operand> of_input_, of_step_;
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
  if (code == Code::kNegate && a.kind == Kind::kConstant) return constant(-value(a));
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
  PointwiseFunction made(inputs_ + 1);
  made.set_result(Derivatives(*this, made).of_input(number));
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
