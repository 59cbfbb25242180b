// How each op is computed in parts: by rows of its contraction, whose products are added, or along an axis that it
// leaves alone. A new op without a rule here is computed as a whole at every place.
#include "graph/op_parts.h"

#include <algorithm>
#include <typeindex>
#include <unordered_map>

#include "graph/class_parts.h"
#include "graph/ops/arrange.h"
#include "graph/ops/attention.h"
#include "graph/ops/batch_norm.h"
#include "graph/ops/collective.h"
#include "graph/ops/combine.h"
#include "graph/ops/constant.h"
#include "graph/ops/conv.h"
#include "graph/ops/dense.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/embedding.h"
#include "graph/ops/loss.h"
#include "graph/ops/mask.h"
#include "graph/ops/metric.h"
#include "graph/ops/pointwise.h"
#include "graph/ops/pool2d.h"
#include "graph/ops/synchronized_batch_norm.h"
#include "graph/ops/upsample2d.h"

namespace mirrortrain {
namespace {

using Inputs = std::vector<ValueId>;
using Ways = std::vector<OpParts>;

template <class OpType>
const OpType& op_of(const DividedNode& node) {
  return static_cast<const OpType&>(*node.node.op);
}

std::size_t last_axis(const Shape& shape) { return shape.rank() - 1; }

/// What the places' sum of products still lacks: the bias, and the activation that was fused.
std::vector<ValueId> finished(Graph& graph, ValueId product, ValueId bias, ops::ActivationKind activation) {
  ValueId y = ops::sum_of_places(graph, product);
  if (bias != kNoValue) {
    const std::size_t rank = graph.spec(y).shape.rank();
    const ValueId vector = graph.apply_one(ops::Reshape(ops::with_rank(graph.spec(bias).shape, rank)), {bias});
    y = graph.apply_one(ops::Combine(ops::CombineKind::kAdd), {y, vector});
  }
  if (activation != ops::ActivationKind::kLinear) y = graph.apply_one(ops::Activation(activation), {y});
  return {y};
}

/// A node whose op's results at all places are added.
template <class OpType>
auto sum_of(const OpType& op) {
  return [op](Graph& graph, Inputs inputs, const ModelPlace&) -> std::vector<ValueId> {
    return {ops::sum_of_places(graph, graph.apply_one(op, std::move(inputs)))};
  };
}

/// The unit along which an input that is contracted is divided already, or else that of the weight.
std::int64_t unit_of_contraction(const DividedNode& node, std::size_t axis_of_x, std::size_t axis_of_weight) {
  return node.held[0].is_along(axis_of_x) ? node.held[0].unit : node.unit(1, axis_of_weight);
}

/// x · kernel + bias: by columns of the kernel or by its rows.
Ways dense(const DividedNode& node) {
  const std::size_t last = last_axis(node.shape(0));
  const std::int64_t column = node.unit(1, 1), row = unit_of_contraction(node, last, 0);
  OpParts columns{{Sharding::copied(), Sharding::along(1, column), Sharding::along(0, column)},
                  {Sharding::along(last, column)}};
  OpParts rows{{Sharding::along(last, row), Sharding::along(0, row), Sharding::whole()}, {Sharding::whole()}};
  rows.summed = node.output_shape().elements();
  rows.lower = [activation = op_of<ops::Dense>(node).activation](Graph& graph, Inputs inputs, const ModelPlace&) {
    inputs.resize(3, kNoValue);
    return finished(graph, graph.apply_one(ops::Dense(), {inputs[0], inputs[1], kNoValue}), inputs[2], activation);
  };
  return {columns, rows};
}

/// x · kernel^T, as with a tied weight.
Ways transposed_dense(const DividedNode& node) {
  const std::size_t last = last_axis(node.shape(0));
  const std::int64_t column = node.unit(1, 0), row = unit_of_contraction(node, last, 1);
  OpParts columns{{Sharding::copied(), Sharding::along(0, column)}, {Sharding::along(last, column)}};
  OpParts rows{{Sharding::along(last, row), Sharding::along(1, row)}, {Sharding::whole()}};
  rows.summed = node.output_shape().elements();
  rows.lower = sum_of(ops::DenseInputGradient());
  return {columns, rows};
}

constexpr std::size_t kChannels = 2;  ///< the axis of an image

Ways convolution_in_groups(const DividedNode& node) {
  const auto& conv = op_of<ops::Conv2d>(node);
  const std::int64_t in = node.shape(0)[kChannels] / conv.groups, out = node.output_shape()[kChannels] / conv.groups;
  OpParts groups{{Sharding::along(kChannels, in), Sharding::along(3, out), Sharding::along(0, out)},
                 {Sharding::along(kChannels, out)}};
  groups.lower = [conv](Graph& graph, Inputs inputs, const ModelPlace& place) {
    ops::Conv2d local = conv;
    local.groups = part_of(conv.groups, place).count;
    return graph.apply(local, std::move(inputs));
  };
  return {groups};
}

Ways convolution(const DividedNode& node) {
  const auto& conv = op_of<ops::Conv2d>(node);
  if (conv.groups > 1) return convolution_in_groups(node);
  const std::int64_t column = node.unit(1, 3), row = unit_of_contraction(node, kChannels, 2);
  OpParts columns{{Sharding::copied(), Sharding::along(3, column), Sharding::along(0, column)},
                  {Sharding::along(kChannels, column)}};
  OpParts rows{{Sharding::along(kChannels, row), Sharding::along(2, row), Sharding::whole()}, {Sharding::whole()}};
  rows.summed = node.output_shape().elements();
  rows.lower = [conv](Graph& graph, Inputs inputs, const ModelPlace&) {
    inputs.resize(3, kNoValue);
    const ops::Conv2d linear(conv, ops::ActivationKind::kLinear);
    return finished(graph, graph.apply_one(linear, {inputs[0], inputs[1], kNoValue}), inputs[2], conv.activation);
  };
  return {columns, rows};
}

/// As a forward op: the kernel [height, width, in, out] makes `in` channels of `out`.
Ways transposed_convolution(const DividedNode& node) {
  const auto& conv = op_of<ops::Conv2dInputGradient>(node);
  if (conv.groups > 1) return {};
  const std::int64_t column = node.unit(1, 2), row = unit_of_contraction(node, kChannels, 3);
  OpParts columns{{Sharding::copied(), Sharding::along(2, column)}, {Sharding::along(kChannels, column)}};
  columns.lower = [conv, sharding = columns.outputs[0]](Graph& graph, Inputs inputs, const ModelPlace& place) {
    return graph.apply(ops::Conv2dInputGradient(conv, sharding.local(conv.input_shape, place)), std::move(inputs));
  };
  OpParts rows{{Sharding::along(kChannels, row), Sharding::along(3, row)}, {Sharding::whole()}};
  rows.summed = node.output_shape().elements();
  rows.lower = sum_of(conv);
  return {columns, rows};
}

/// By columns of the table, or by its rows: those of another part are zeros in the sum.
Ways embedding(const DividedNode& node) {
  const std::int64_t column = node.unit(1, 1), row = node.unit(1, 0);
  const OpParts columns{{Sharding::whole(), Sharding::along(1, column)},
                        {Sharding::along(last_axis(node.output_shape()), column)}};
  OpParts rows{{Sharding::whole(), Sharding::along(0, row)}, {Sharding::whole()}};
  rows.summed = node.output_shape().elements();
  rows.lower = [op = op_of<ops::Embedding>(node), table = node.shape(1), sharding = rows.inputs[1]](
                   Graph& graph, Inputs inputs, const ModelPlace& place) -> std::vector<ValueId> {
    ops::Embedding local = op;
    local.first_row = sharding.part(table, place).first;
    local.all_rows = table[0];
    return {ops::sum_of_places(graph, graph.apply_one(local, std::move(inputs)))};
  };
  return {columns, rows};
}

/// By heads.
Ways attention(const DividedNode& node) {
  const auto& op = op_of<ops::Attention>(node);
  const auto is_divided = [](const Sharding& sharding) { return sharding.is_divided(); };
  if (std::ranges::none_of(node.held, is_divided)) return {};
  const std::int64_t size = node.shape(0)[1] / op.heads, of_value = node.shape(2)[1] / op.heads;
  OpParts heads{{Sharding::along(1, size), Sharding::along(1, size), Sharding::along(1, of_value), Sharding::whole(),
                 Sharding::whole()},
                {Sharding::along(1, of_value), Sharding::along(0)}};
  heads.lower = [op](Graph& graph, Inputs inputs, const ModelPlace& place) {
    ops::Attention local = op;
    const AxisPart part = part_of(op.heads, place);
    local.heads = part.count;
    local.first_head = op.first_head + part.first;
    return graph.apply(local, std::move(inputs));
  };
  return {heads};
}

/// Along any axis by which an input is divided, where the inputs are broadcast to the output's shape.
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

/// Zeros take the places of the other parts, so that each element has the random bits of its place in the whole.
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

template <class OpType>
Ways padded(const DividedNode& node) {
  const auto& op = op_of<OpType>(node);
  return along_axis(
      node, [&](std::size_t axis) { return op.before[axis] == 0 && op.after[axis] == 0; }, same_axis);
}

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

/// Inputs: a mask, and two values like the output with one axis more.
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

Ways sum_to(const DividedNode& node) { return reduced<ops::SumTo>(node, true); }
Ways max_to(const DividedNode& node) { return reduced<ops::MaxTo>(node, false); }

/// Every place has it as a whole.
Ways constant(const DividedNode&) { return {{{}, {Sharding::whole()}}}; }

/// Only its rows are read.
Ways only_rows(const DividedNode& node) { return {{{node.held[0]}, {Sharding::whole()}}}; }

/// Channels are normalized by themselves: the vectors are divided as they are.
Ways batch_norm(const DividedNode& node) {
  const Sharding& held = node.held[0];
  if (!held.is_along(last_axis(node.shape(0)))) return {};
  const Sharding vector = Sharding::along(0, held.unit);
  OpParts way{std::vector<Sharding>(node.held.size(), vector), std::vector<Sharding>(node.node.outputs.size(), vector)};
  way.inputs[0] = way.outputs[0] = held;
  return {way};
}

Ways batch_norm_sums(const DividedNode& node) {
  const Sharding& held = node.held[0];
  if (!held.is_along(last_axis(node.shape(0)))) return {};
  return {{{held, Sharding::whole()}, {Sharding::own(held.unit)}}};
}

Ways batch_norm_by_sums(const DividedNode& node) {
  if (node.held[3].kind != Sharding::Kind::kOwn) return {};
  Ways ways = batch_norm(node);
  for (OpParts& way : ways) {
    way.inputs[3] = node.held[3];
    if (way.inputs.size() > 4) way.inputs[4] = Sharding::whole();
  }
  return ways;
}

/// From a place's own sums, vectors of its channels.
Ways moving_statistics(const DividedNode& node) {
  if (node.held[0].kind != Sharding::Kind::kOwn) return {};
  const Sharding vector = Sharding::along(0, node.held[0].unit);
  std::vector<Sharding> inputs(node.node.inputs.size(), vector);
  inputs[0] = node.held[0];
  return {{inputs, std::vector<Sharding>(node.node.outputs.size(), vector)}};
}

/// Over replicas: each place's values by themselves.
Ways collective(const DividedNode& node) {
  if (node.held[0].has_all()) return {};
  return {{node.held, std::vector<Sharding>(node.node.outputs.size(), node.held[0])}};
}

using Rule = Ways (*)(const DividedNode&);
template <class OpType>
std::pair<const std::type_index, Rule> rule(Rule of) {
  return {typeid(OpType), of};
}

const std::unordered_map<std::type_index, Rule>& rules() {
  static const std::unordered_map<std::type_index, Rule> all{
      rule<ops::Activation>(elementwise),
      rule<ops::AddN>(elementwise),
      rule<ops::AllReduce>(collective),
      rule<ops::Attention>(attention),
      rule<ops::AveragePool2d>(by_channels),
      rule<ops::BatchNorm>(batch_norm),
      rule<ops::BatchNormBySums>(batch_norm_by_sums),
      rule<ops::BatchNormInference>(batch_norm),
      rule<ops::BatchNormSums>(batch_norm_sums),
      rule<ops::Cast>(elementwise),
      rule<ops::Combine>(elementwise),
      rule<ops::Concatenate>(concatenate),
      rule<ops::Constant>(constant),
      rule<ops::Conv2d>(convolution),
      rule<ops::Conv2dInputGradient>(transposed_convolution),
      rule<ops::Crop>(padded<ops::Crop>),
      rule<ops::Dense>(dense),
      rule<ops::DenseInputGradient>(transposed_dense),
      rule<ops::Dropout>(dropout),
      rule<ops::Embedding>(embedding),
      rule<ops::Flip>(flip),
      rule<ops::FullMask>(only_rows),
      rule<ops::GlobalAveragePool2d>(over_positions),
      rule<ops::GlobalMaxPool2d>(over_positions),
      rule<ops::Loss>(loss_in_parts),
      rule<ops::MaskedMean>(masked_mean),
      rule<ops::MaxPool2d>(by_channels),
      rule<ops::MaxTo>(max_to),
      rule<ops::Metric>(metric_in_parts),
      rule<ops::MovingStatistics>(moving_statistics),
      rule<ops::Pad>(padded<ops::Pad>),
      rule<ops::Pointwise>(elementwise),
      rule<ops::RandomNormal>(only_rows),
      rule<ops::RenormStatistics>(moving_statistics),
      rule<ops::Reshape>(reshape),
      rule<ops::Scale>(elementwise),
      rule<ops::Select>(select),
      rule<ops::Softmax>(softmax),
      rule<ops::SumTo>(sum_to),
      rule<ops::Transpose>(transpose),
      rule<ops::Upsample2d>(by_channels),
  };
  return all;
}

}  // namespace

std::vector<OpParts> parts_of_op(const DividedNode& node) {
  const Op& op = *node.node.op;
  const auto found = rules().find(typeid(op));
  return found == rules().end() ? Ways() : found->second(node);
}

}  // namespace mirrortrain
