#include "graph/ops/pointwise.h"

#include <algorithm>
#include <numbers>
#include <vector>

#include "onnx/operators.h"

namespace mirrortrain::onnx {
namespace {

using Code = ops::PointwiseCode;

/// The steps of a function, as nodes on values that are broadcast.
class FunctionNodes {
 public:
  FunctionNodes(Builder& builder, const ops::PointwiseFunction& function, std::vector<std::string> inputs)
      : b(builder), function_(function), inputs_(std::move(inputs)) {}

  std::string result() {
    for (const ops::PointwiseStep& step : function_.steps()) {
      const int operands = ops::operands_of(step.code);
      const std::string x = value(step.a), y = operands > 1 ? value(step.b) : "", z = operands > 2 ? value(step.c) : "";
      steps_.push_back(operands == 1   ? of_one(step.code, x)
                       : operands == 2 ? of_two(step.code, x, y)
                                       : of_three(step.code, x, y, z));
    }
    return value(function_.result());
  }

 private:
  std::string value(ops::PointwiseOperand operand) {
    if (operand.kind == ops::PointwiseOperand::Kind::kConstant) return b.number(function_.value(operand));
    const bool is_input = operand.kind == ops::PointwiseOperand::Kind::kInput;
    return (is_input ? inputs_ : steps_)[static_cast<std::size_t>(operand.number)];
  }

  std::string as_number(const std::string& truth) { return b.cast(truth, ElementType::kFloat); }
  std::string is_zero(const std::string& x) { return b.add("Equal", {x, b.number(0)}); }
  std::string is_true(const std::string& x) { return b.add("Not", {is_zero(x)}); }

  std::string of_one(Code code, const std::string& x) {
    switch (code) {
      case Code::kNegate: return b.add("Neg", {x});
      case Code::kAbs: return b.add("Abs", {x});
      case Code::kSign: return b.add("Sign", {x});
      case Code::kExp: return b.add("Exp", {x});
      case Code::kExpm1: return b.add("Sub", {b.add("Exp", {x}), b.number(1)});
      case Code::kLog: return b.add("Log", {x});
      case Code::kLog1p: return b.add("Log", {b.add("Add", {x, b.number(1)})});
      case Code::kSqrt: return b.add("Sqrt", {x});
      case Code::kRsqrt: return b.add("Div", {b.number(1), b.add("Sqrt", {x})});
      case Code::kSquare: return b.add("Mul", {x, x});
      case Code::kSin: return b.add("Sin", {x});
      case Code::kCos: return b.add("Cos", {x});
      case Code::kTanh: return b.add("Tanh", {x});
      case Code::kSigmoid: return b.add("Sigmoid", {x});
      case Code::kRelu: return b.add("Relu", {x});
      case Code::kSoftplus: return b.add("Softplus", {x});
      case Code::kErf: return b.add("Erf", {x});
      case Code::kNot: return as_number(is_zero(x));
      case Code::kLogisticSlope: return b.add("Mul", {x, b.add("Sub", {b.number(1), x})});
      case Code::kTanhSlope: return b.add("Sub", {b.number(1), b.add("Mul", {x, x})});
      default: throw NotInOnnx("its formula has an operation without an operator");
    }
  }

  std::string of_two(Code code, const std::string& x, const std::string& y) {
    switch (code) {
      case Code::kAdd: return b.add("Add", {x, y});
      case Code::kSubtract: return b.add("Sub", {x, y});
      case Code::kMultiply: return b.add("Mul", {x, y});
      case Code::kDivide: return b.add("Div", {x, y});
      case Code::kPower: return b.add("Pow", {x, y});
      case Code::kArctan2: return angle(x, y);
      case Code::kMaximum: return b.add("Max", {x, y});
      case Code::kMinimum: return b.add("Min", {x, y});
      case Code::kLess: return as_number(b.add("Less", {x, y}));
      case Code::kLessEqual: return as_number(b.add("LessOrEqual", {x, y}));
      case Code::kEqual: return as_number(b.add("Equal", {x, y}));
      case Code::kNotEqual: return as_number(b.add("Not", {b.add("Equal", {x, y})}));
      case Code::kAnd: return as_number(b.add("And", {is_true(x), is_true(y)}));
      case Code::kOr: return as_number(b.add("Or", {is_true(x), is_true(y)}));
      case Code::kChain: return b.add("Where", {is_zero(x), b.number(0), b.add("Mul", {x, y})});
      default: throw NotInOnnx("its formula has an operation without an operator");
    }
  }

  std::string of_three(Code code, const std::string& x, const std::string& y, const std::string& z) {
    if (code == Code::kWhere) return b.add("Where", {is_true(x), y, z});
    return b.add("Add", {b.add("Mul", {x, y}), z});
  }

  /// Of the point (x, y), whose operator is of a later opset: from the arctangent of y / x, with half a turn left of 0.
  /// At 0 the angle is 0.
  std::string angle(const std::string& y, const std::string& x) {
    const std::string quotient = b.add("Div", {y, x});
    const std::string near = b.add("Atan", {b.add("Where", {b.add("IsNaN", {quotient}), b.number(0), quotient})});
    const std::string half = b.add("Where", {b.add("Less", {y, b.number(0)}), b.number(-std::numbers::pi_v<float>),
                                             b.number(std::numbers::pi_v<float>)});
    const std::string turned = b.add("Add", {near, half});
    return b.add("Where", {b.add("Less", {x, b.number(0)}), turned, near});
  }

  Builder& b;
  const ops::PointwiseFunction& function_;
  std::vector<std::string> inputs_, steps_;
};

/// With the channels first where all values with rows have one shape and their channels there.
bool is_done_first(const Lowering& to, const mirrortrain::Node& node) {
  bool any = false;
  for (const ValueId x : node.inputs) {
    const ValueSpec& spec = to.spec(x);
    if (!spec.batched && spec.shape.rank() == 0) continue;
    if (!to.is_channels_first(x) || spec.shape != to.spec(node.outputs[0]).shape) return false;
    any = true;
  }
  return any;
}

void lower_pointwise(Lowering& to, const ops::Pointwise& op, const mirrortrain::Node& node) {
  const bool first = is_done_first(to, node);
  std::vector<std::string> inputs;
  for (const ValueId x : node.inputs) {
    inputs.push_back(first && to.spec(x).batched ? to.channels_first(x) : to.value(x));
  }
  std::string result = FunctionNodes(to.builder(), op.function, std::move(inputs)).result();
  // A function may read less than it has the shape of.
  const ValueSpec& made = to.spec(node.outputs[0]);
  bool is_whole = false;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueSpec& spec = to.spec(node.inputs[i]);
    is_whole = is_whole || (op.function.reads(i) && spec.batched == made.batched && spec.shape == made.shape);
  }
  if (!is_whole && made.batched) {
    const std::string zeros = to.filled(made.shape, 0);
    result = to.builder().add("Add", {result, zeros});
  } else if (!is_whole) {
    result = to.builder().add("Expand", {result, to.builder().vector(made.shape.dims())});
  }
  to.set(node.outputs[0], result, first);
}

}  // namespace

void add_pointwise_operators(OperatorRegistry& registry) { registry.add<ops::Pointwise>(lower_pointwise); }

}  // namespace mirrortrain::onnx
