#include "graph/parts/contractions.h"

#include <algorithm>

#include "graph/ops/arrange.h"
#include "graph/ops/attention.h"
#include "graph/ops/combine.h"
#include "graph/ops/conv.h"
#include "graph/ops/dense.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/embedding.h"
#include "graph/ops/recurrent.h"

namespace mirrortrain::parts {
namespace {

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

/// The unit along which an input that is contracted is divided already, or else that of the weight.
std::int64_t unit_of_contraction(const DividedNode& node, std::size_t axis_of_x, std::size_t axis_of_weight) {
  return node.held[0].is_along(axis_of_x) ? node.held[0].unit : node.unit(1, axis_of_weight);
}

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

}  // namespace

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

Ways transposed_dense(const DividedNode& node) {
  const std::size_t last = last_axis(node.shape(0));
  const std::int64_t column = node.unit(1, 0), row = unit_of_contraction(node, last, 1);
  OpParts columns{{Sharding::copied(), Sharding::along(0, column)}, {Sharding::along(last, column)}};
  OpParts rows{{Sharding::along(last, row), Sharding::along(1, row)}, {Sharding::whole()}};
  rows.summed = node.output_shape().elements();
  rows.lower = sum_of(ops::DenseInputGradient());
  return {columns, rows};
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

Ways recurrent(const DividedNode& node) {
  OpParts units{std::vector<Sharding>(node.held.size(), Sharding::whole()),
                std::vector<Sharding>(node.node.outputs.size(), Sharding::whole())};
  units.inputs[1] = Sharding::along(0, node.unit(1, 0));
  units.lower = [op = op_of<ops::Recurrent>(node), kernel = node.shape(1), sharding = units.inputs[1]](
                    Graph& graph, Inputs inputs, const ModelPlace& place) {
    const auto [before, after] = sharding.beside(kernel, place);
    inputs[1] = ops::sum_of_places(graph, graph.apply_one(ops::Pad(before, after), {inputs[1]}));
    return graph.apply(op, std::move(inputs));
  };
  return {units};
}

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

}  // namespace mirrortrain::parts
