#include "graph/parts/along_axes.h"

#include <algorithm>

#include "graph/ops/arrange.h"
#include "graph/ops/combine.h"
#include "graph/ops/elementwise.h"

namespace mirrortrain::parts {
namespace {

/// Where the first input is divided along an axis for which `allowed`: the outputs are divided likewise, along the axis
/// that `axis_of` gives. Other inputs are whole.
template <class Allowed, class AxisOf>
Ways along_axis(const DividedNode& node, const Allowed& allowed, const AxisOf& axis_of) {
  const Sharding& held = node.held[0];
  if (!held.is_divided() || !allowed(held.axis)) return {};
  OpParts way;
  way.inputs.assign(node.held.size(), Sharding::whole());
  way.inputs[0] = held;
  way.outputs.assign(node.node.outputs.size(), Sharding::along(axis_of(held.axis), held.unit));
  return {way};
}

std::size_t same_axis(std::size_t axis) { return axis; }

template <class OpType>
Ways padded(const DividedNode& node) {
  const auto& op = op_of<OpType>(node);
  return along_axis(
      node, [&](std::size_t axis) { return op.before[axis] == 0 && op.after[axis] == 0; }, same_axis);
}

/// A reduction over axes of one element in the target.
template <class OpType>
Ways reduced(const DividedNode& node, bool adds_parts) {
  const auto& op = op_of<OpType>(node);
  const Sharding& held = node.held[0];
  if (!held.is_divided() || !node.graph.spec(node.node.outputs[0]).batched) return {};
  if (op.target[held.axis] != node.shape(0)[held.axis]) {
    if (!adds_parts) return {};
    OpParts sum{{held}, {Sharding::whole()}, op.target.elements()};
    sum.lower = sum_of(op);
    return {sum};
  }
  OpParts way{{held}, {held}};
  way.lower = [op, held](Graph& graph, Inputs inputs, const ModelPlace& place) {
    OpType local = op;
    local.target = held.local(op.target, place);
    return graph.apply(local, std::move(inputs));
  };
  return {way};
}

}  // namespace

Ways elementwise(const DividedNode& node) {
  Ways ways;
  const std::size_t rank = node.output_shape().rank();
  for (std::size_t i = 0; i < node.held.size(); ++i) {
    if (!node.held[i].is_divided()) continue;
    const std::size_t axis = node.held[i].axis + rank - node.shape(i).rank();
    OpParts way;
    for (std::size_t input = 0; input < node.held.size(); ++input) {
      const std::size_t missing = node.has(input) ? rank - node.shape(input).rank() : rank;
      const bool is_repeated = axis < missing || node.shape(input)[axis - missing] != node.output_shape()[axis];
      way.inputs.push_back(is_repeated ? Sharding::copied() : Sharding::along(axis - missing, node.held[i].unit));
    }
    way.outputs.assign(node.node.outputs.size(), Sharding::along(axis, node.held[i].unit));
    // Parts of one element would look like what is repeated, and have other gradients than larger parts.
    const bool repeats = std::ranges::any_of(way.inputs, [](const Sharding& input) { return input.has_all(); });
    const AxisPart least = way.outputs[0].part(node.output_shape(), {node.places - 1, node.places});
    if (repeats && least.count < 2) continue;
    ways.push_back(std::move(way));
  }
  return ways;
}

Ways dropout(const DividedNode& node) {
  Ways ways = elementwise(node);
  for (OpParts& way : ways) {
    way.lower = [op = op_of<ops::Dropout>(node), sharding = way.outputs[0], shape = node.shape(0)](
                    Graph& graph, Inputs inputs, const ModelPlace& place) {
      const auto [before, after] = sharding.beside(shape, place);
      const ValueId whole = graph.apply_one(op, {graph.apply_one(ops::Pad(before, after), std::move(inputs))});
      return graph.apply(ops::Crop(before, after), {whole});
    };
  }
  return ways;
}

Ways by_channels(const DividedNode& node) {
  return along_axis(
      node, [](std::size_t axis) { return axis == kChannels; }, same_axis);
}

Ways over_positions(const DividedNode& node) {
  return along_axis(
      node, [](std::size_t axis) { return axis == kChannels; }, [](std::size_t) { return 0; });
}

Ways masked_mean(const DividedNode& node) {
  return along_axis(
      node, [](std::size_t axis) { return axis == 1; }, [](std::size_t) { return 0; });
}

Ways softmax(const DividedNode& node) {
  return along_axis(
      node, [&](std::size_t axis) { return axis != last_axis(node.shape(0)); }, same_axis);
}

Ways pad(const DividedNode& node) { return padded<ops::Pad>(node); }
Ways crop(const DividedNode& node) { return padded<ops::Crop>(node); }

Ways flip(const DividedNode& node) {
  return along_axis(
      node, [&](std::size_t axis) { return axis != op_of<ops::Flip>(node).axis; }, same_axis);
}

Ways transpose(const DividedNode& node) {
  const std::vector<std::size_t>& axes = op_of<ops::Transpose>(node).axes;
  return along_axis(
      node, [](std::size_t) { return true; },
      [&](std::size_t axis) { return static_cast<std::size_t>(std::ranges::find(axes, axis) - axes.begin()); });
}

Ways concatenate(const DividedNode& node) {
  Ways ways;
  for (const Sharding& held : node.held) {
    if (!held.is_divided() || held.axis == op_of<ops::Concatenate>(node).axis) continue;
    ways.push_back({std::vector<Sharding>(node.held.size(), held), {held}});
  }
  return ways;
}

Ways reshape(const DividedNode& node) {
  const Sharding& held = node.held[0];
  if (!held.is_divided()) return {};
  const Shape& target = op_of<ops::Reshape>(node).target;
  OpParts way{{held}, {reshaped(held, node.shape(0), target)}};
  if (!way.outputs[0].is_divided()) return {};
  way.lower = [target, sharding = way.outputs[0]](Graph& graph, Inputs inputs, const ModelPlace& place) {
    return graph.apply(ops::Reshape(sharding.local(target, place)), std::move(inputs));
  };
  return {way};
}

Ways select(const DividedNode& node) {
  Ways ways;
  for (const std::size_t i : {1, 2}) {
    const Sharding& held = node.held[i];
    if (!held.is_divided()) continue;
    const bool divides_mask = held.axis < node.shape(0).rank();
    ways.push_back({{divides_mask ? held : Sharding::whole(), held, held}, {held}});
  }
  return ways;
}

Ways sum_to(const DividedNode& node) { return reduced<ops::SumTo>(node, true); }

Ways max_to(const DividedNode& node) { return reduced<ops::MaxTo>(node, false); }

Ways constant(const DividedNode&) { return {{{}, {Sharding::whole()}}}; }

Ways only_rows(const DividedNode& node) { return {{{node.held[0]}, {Sharding::whole()}}}; }

Ways collective(const DividedNode& node) {
  if (node.held[0].has_all()) return {};
  return {{node.held, std::vector<Sharding>(node.node.outputs.size(), node.held[0])}};
}

}  // namespace mirrortrain::parts
