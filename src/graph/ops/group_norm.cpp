#include "graph/ops/group_norm.h"

#include "graph/ops/checks.h"

namespace mirrortrain::ops {
namespace {

void expect_x(const Op& op, const GroupNormAttributes& norm, const ValueSpec& x) {
  expect(x.batched && x.shape.rank() > 0 && is_float(x.dtype), op.name(),
         "[..., channels] per row, float32 or bfloat16", x);
  expect(norm.groups > 0 && x.shape.back() % norm.groups == 0, op.name(),
         fmt::format("channels that can be split into {} groups", norm.groups), x);
}

ValueSpec per_channel(const ValueSpec& x) { return {DType::kFloat32, {x.shape.back()}, false}; }

void expect_channels(const Op& op, std::string_view what, const ValueSpec& x, const ValueSpec& found) {
  if (present(found)) expect_same(op.name(), what, per_channel(x), found);
}

ValueSpec statistics(const GroupNormAttributes& norm, const ValueSpec& x) {
  const std::int64_t positions = x.shape.elements() / x.shape.back();
  return {DType::kFloat32, {norm.by_position ? positions * norm.groups : norm.groups}, true};
}

}  // namespace

std::vector<ValueSpec> GroupNorm::infer(std::span<const ValueSpec> inputs) const {
  expect_x(*this, *this, inputs[0]);
  expect_channels(*this, "gamma", inputs[0], inputs[1]);
  expect_channels(*this, "beta", inputs[0], inputs[2]);
  const ValueSpec found = statistics(*this, inputs[0]);
  return {inputs[0], found, found};
}

std::vector<ValueId> GroupNorm::gradient(Graph& graph, const Node& node, std::span<const ValueId> output_gradients,
                                         const std::vector<bool>& wanted) const {
  std::vector<ValueId> gradients(node.inputs.size(), kNoValue);
  if (output_gradients[0] == kNoValue) return gradients;
  const std::vector<ValueId> found =
      graph.apply(GroupNormGradient(*this),
                  {node.inputs[0], output_gradients[0], node.inputs[1], node.outputs[1], node.outputs[2]});
  // x, gamma and beta are both the inputs here and the outputs there.
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (wanted[i]) gradients[i] = found[i];
  }
  return gradients;
}

std::vector<ValueSpec> GroupNormGradient::infer(std::span<const ValueSpec> inputs) const {
  const ValueSpec& x = inputs[0];
  expect_x(*this, *this, x);
  expect_same(name(), "the output's gradient", x, inputs[1]);
  expect_channels(*this, "gamma", x, inputs[2]);
  expect_same(name(), "the mean", statistics(*this, x), inputs[3]);
  expect_same(name(), "the inverse standard deviation", statistics(*this, x), inputs[4]);
  return {x, per_channel(x), per_channel(x)};
}

}  // namespace mirrortrain::ops
