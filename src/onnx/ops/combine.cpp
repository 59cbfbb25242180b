#include "graph/ops/combine.h"

#include "onnx/operators.h"

namespace mirrortrain::onnx {
namespace {

std::string operator_of(ops::CombineKind kind) {
  switch (kind) {
    case ops::CombineKind::kAdd: return "Add";
    case ops::CombineKind::kMultiply: return "Mul";
    case ops::CombineKind::kMaximum: return "Max";
    case ops::CombineKind::kMinimum: break;
  }
  return "Min";
}

/// With the channels first where an image as large as the result has them there.
void lower_combine(Lowering& to, const ops::Combine& op, const mirrortrain::Node& node) {
  const Shape& made = to.spec(node.outputs[0]).shape;
  bool first = false;
  for (const ValueId x : node.inputs) first = first || (to.is_channels_first(x) && to.spec(x).shape == made);
  const auto in_form = [&](ValueId x) {
    if (!first) return to.value(x);
    if (to.spec(x).batched) return to.channels_first(x);
    Ints order = to_channels_first(to.spec(x).shape.rank() + 1);
    order.erase(order.begin());
    for (std::int64_t& axis : order) --axis;
    return to.builder().transpose(to.value(x), order);
  };
  const std::string a = in_form(node.inputs[0]), b = in_form(node.inputs[1]);
  to.set(node.outputs[0], to.builder().add(operator_of(op.kind), {a, b}), first);
}

/// The axes along which x becomes shorter, rows not counted.
std::vector<std::size_t> reduced_axes(const Shape& x, const Shape& target) {
  std::vector<std::size_t> axes;
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    if (x[axis] != target[axis]) axes.push_back(axis);
  }
  return axes;
}

void lower_sum_to(Lowering& to, const ops::SumTo& op, const mirrortrain::Node& node) {
  const ValueId x = node.inputs[0];
  if (to.spec(x).batched && !op.per_row) throw NotInOnnx("it adds up the examples of a batch");
  const Ints axes = to.axes(x, reduced_axes(to.spec(x).shape, op.target));
  to.set(node.outputs[0], axes.empty() ? to.value(x) : to.builder().sum(to.value(x), axes, true));
}

void lower_max_to(Lowering& to, const ops::MaxTo& op, const mirrortrain::Node& node) {
  const ValueId x = node.inputs[0];
  const Ints axes = to.axes(x, reduced_axes(to.spec(x).shape, op.target));
  to.set(node.outputs[0], axes.empty() ? to.value(x) : to.builder().add("ReduceMax", {to.value(x)}, {{"axes", axes}}));
}

}  // namespace

void add_combine_operators(OperatorRegistry& registry) {
  registry.add<ops::Combine>(lower_combine);
  registry.add<ops::SumTo>(lower_sum_to);
  registry.add<ops::MaxTo>(lower_max_to);
}

}  // namespace mirrortrain::onnx
