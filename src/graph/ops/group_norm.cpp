#include "graph/ops/group_norm.h"

#include "graph/ops/norm_checks.h"

namespace mirrortrain::ops {
namespace {

void expect_groups(const Op& op, const GroupNormAttributes& norm, const ValueSpec& x) {
  expect_x(op.name(), x);
  expect(norm.groups > 0 && x.shape.back() % norm.groups == 0, op.name(),
         fmt::format("channels that can be split into {} groups", norm.groups), x);
}

ValueSpec statistics(const GroupNormAttributes& norm, const ValueSpec& x) {
  const std::int64_t positions = x.shape.elements() / x.shape.back();
  return {DType::kFloat32, {norm.by_position ? positions * norm.groups : norm.groups}, true};
}

}  // namespace

std::vector<ValueSpec> GroupNorm::infer(std::span<const ValueSpec> inputs) const {
  expect_groups(*this, *this, inputs[0]);
  expect_channels(name(), "gamma", inputs[0], inputs[1], true);
  expect_channels(name(), "beta", inputs[0], inputs[2], true);
  const ValueSpec found = statistics(*this, inputs[0]);
  return {inputs[0], found, found};
}

std::vector<ValueId> GroupNorm::gradient(Graph& graph, const Node& node, std::span<const ValueId> output_gradients,
                                         const std::vector<bool>& wanted) const {
  if (output_gradients[0] == kNoValue) return std::vector<ValueId>(node.inputs.size(), kNoValue);
  // x, gamma and beta are both the inputs here and the outputs there.
  return wanted_of(graph.apply(GroupNormGradient(*this),
                               {node.inputs[0], output_gradients[0], node.inputs[1], node.outputs[1], node.outputs[2]}),
                   wanted);
}

std::vector<ValueSpec> GroupNormGradient::infer(std::span<const ValueSpec> inputs) const {
  const ValueSpec& x = inputs[0];
  expect_groups(*this, *this, x);
  expect_same(name(), "the output's gradient", x, inputs[1]);
  expect_channels(name(), "gamma", x, inputs[2], true);
  expect_same(name(), "the mean", statistics(*this, x), inputs[3]);
  expect_same(name(), "the inverse standard deviation", statistics(*this, x), inputs[4]);
  return {x, per_channel(x), per_channel(x)};
}

}  // namespace mirrortrain::ops
