#include "graph/ops/arrange.h"

#include <algorithm>

#include "graph/ops/constant.h"
#include "graph/ops/elementwise.h"
#include "onnx/operators.h"

namespace mirrortrain::onnx {
namespace {

/// One number for each axis of the ONNX value, the rows' first: 0 for them.
Ints with_rows(const Lowering& to, ValueId id, const Ints& per_row, bool channels_first) {
  Ints all = per_row;
  if (to.spec(id).batched) all.insert(all.begin(), 0);
  if (!channels_first) return all;
  Ints moved;
  for (const std::int64_t axis : to_channels_first(all.size())) moved.push_back(all[static_cast<std::size_t>(axis)]);
  return moved;
}

std::string in_form(Lowering& to, ValueId id, bool channels_first) {
  return channels_first ? to.channels_first(id) : to.value(id);
}

void lower_pad(Lowering& to, const ops::Pad& op, const mirrortrain::Node& node) {
  const ValueId x = node.inputs[0];
  const bool first = to.is_channels_first(x);
  Ints pads = with_rows(to, x, op.before, first);
  const Ints after = with_rows(to, x, op.after, first);
  pads.insert(pads.end(), after.begin(), after.end());
  to.set(node.outputs[0], to.builder().add("Pad", {in_form(to, x, first), to.builder().vector(pads)}), first);
}

void lower_crop(Lowering& to, const ops::Crop& op, const mirrortrain::Node& node) {
  const ValueId x = node.inputs[0];
  const bool first = to.is_channels_first(x);
  const Ints before = with_rows(to, x, op.before, first);
  Ints ends;
  for (std::size_t axis = 0; axis < op.before.size(); ++axis) ends.push_back(to.spec(x).shape[axis] - op.after[axis]);
  ends = with_rows(to, x, ends, first);
  const Ints after = with_rows(to, x, op.after, first);
  Ints starts, kept_ends, axes;
  for (std::size_t axis = 0; axis < before.size(); ++axis) {
    if (before[axis] == 0 && after[axis] == 0) continue;
    starts.push_back(before[axis]);
    kept_ends.push_back(ends[axis]);
    axes.push_back(static_cast<std::int64_t>(axis));
  }
  const std::string from = in_form(to, x, first);
  to.set(node.outputs[0], axes.empty() ? from : to.builder().slice(from, starts, kept_ends, axes), first);
}

void lower_first_rows(Lowering& to, const ops::FirstRows& op, const mirrortrain::Node& node) {
  to.set(node.outputs[0], to.builder().slice(to.value(node.inputs[0]), {0}, {op.rows}, {0}));
}

void lower_concatenate(Lowering& to, const ops::Concatenate& op, const mirrortrain::Node& node) {
  const bool first = std::ranges::all_of(node.inputs, [&](ValueId x) { return to.is_channels_first(x); });
  std::vector<std::string> parts;
  for (const ValueId x : node.inputs) parts.push_back(in_form(to, x, first));
  std::int64_t axis = to.axis(node.inputs[0], op.axis);
  if (first) axis = op.axis + 1 == to.spec(node.inputs[0]).shape.rank() ? 1 : axis + 1;
  to.set(node.outputs[0], to.builder().add("Concat", std::move(parts), {{"axis", axis}}), first);
}

void lower_transpose(Lowering& to, const ops::Transpose& op, const mirrortrain::Node& node) {
  const ValueId x = node.inputs[0];
  Ints order = to.axes(x, op.axes);
  if (to.spec(x).batched) order.insert(order.begin(), 0);
  to.set(node.outputs[0], to.builder().transpose(to.value(x), order));
}

void lower_flip(Lowering& to, const ops::Flip& op, const mirrortrain::Node& node) {
  const ValueId x = node.inputs[0];
  to.set(node.outputs[0], to.builder().reversed(to.value(x), to.axis(x, op.axis)));
}

void lower_reshape(Lowering& to, const ops::Reshape&, const mirrortrain::Node& node) {
  const std::string x = to.value(node.inputs[0]);
  const bool is_same = to.spec(node.inputs[0]).shape == to.spec(node.outputs[0]).shape;
  to.set(node.outputs[0], is_same ? x : to.builder().reshape(x, to.reshape_target(to.spec(node.outputs[0]))));
}

void lower_constant(Lowering& to, const ops::Constant& op, const mirrortrain::Node& node) {
  to.set(node.outputs[0], to.builder().constant(floats(op.shape.dims(), *op.values)));
}

}  // namespace

void add_arrange_operators(OperatorRegistry& registry) {
  registry.add<ops::Pad>(lower_pad);
  registry.add<ops::Crop>(lower_crop);
  registry.add<ops::FirstRows>(lower_first_rows);
  registry.add<ops::Concatenate>(lower_concatenate);
  registry.add<ops::Transpose>(lower_transpose);
  registry.add<ops::Flip>(lower_flip);
  registry.add<ops::Reshape>(lower_reshape);
  registry.add<ops::Constant>(lower_constant);
}

}  // namespace mirrortrain::onnx
