#include "graph/ops/attention.h"

#include "graph/ops/checks.h"
#include "graph/ops/mask.h"

namespace mirrortrain::ops {
namespace {

void expect_heads(const Op& op, std::int64_t heads, const ValueSpec& x) {
  expect(
      x.batched && x.shape.rank() == 2 && is_float(x.dtype) && heads > 0 && x.shape[1] > 0 && x.shape[1] % heads == 0,
      op.name(), fmt::format("[steps, features of {} heads] per row, float32 or bfloat16", heads), x);
}

/// The masks are inputs from `first` on.
void expect_masks(const Op& op, std::span<const ValueSpec> inputs, std::size_t first) {
  if (inputs.size() > first) expect_mask(op.name(), {inputs[0].shape[0]}, inputs[first], true);
  if (inputs.size() > first + 1) expect_mask(op.name(), {inputs[1].shape[0]}, inputs[first + 1], true);
}

/// The output's spec.
ValueSpec checked(const Op& op, std::int64_t heads, std::span<const ValueSpec> inputs) {
  const ValueSpec &query = inputs[0], &key = inputs[1], &value = inputs[2];
  for (const ValueSpec& input : inputs.first(3)) expect_heads(op, heads, input);
  expect_same(op.name(), "the key", {query.dtype, {key.shape[0], query.shape[1]}, true}, key);
  expect_same(op.name(), "the value", {query.dtype, {key.shape[0], value.shape[1]}, true}, value);
  return {query.dtype, {query.shape[0], value.shape[1]}, true};
}

ValueSpec log_sums(std::int64_t heads, const ValueSpec& query) {
  return {DType::kFloat32, {heads, query.shape[0]}, true};
}

}  // namespace

std::vector<ValueSpec> Attention::infer(std::span<const ValueSpec> inputs) const {
  const ValueSpec output = checked(*this, heads, inputs);
  expect_masks(*this, inputs, 3);
  return {output, log_sums(heads, inputs[0])};
}

std::vector<ValueId> Attention::gradient(Graph& graph, const Node& node, std::span<const ValueId> output_gradients,
                                         const std::vector<bool>& wanted) const {
  if (output_gradients[0] == kNoValue) return std::vector<ValueId>(node.inputs.size(), kNoValue);
  std::vector<ValueId> inputs(node.inputs.begin(), node.inputs.begin() + 3);
  inputs.insert(inputs.end(), {node.outputs[0], node.outputs[1], output_gradients[0]});
  inputs.insert(inputs.end(), node.inputs.begin() + 3, node.inputs.end());
  return wanted_of(graph.apply(AttentionGradient(*this), std::move(inputs)), wanted);
}

std::vector<ValueSpec> AttentionGradient::infer(std::span<const ValueSpec> inputs) const {
  const ValueSpec output = checked(*this, heads, inputs);
  expect_same(name(), "the output", output, inputs[3]);
  expect_same(name(), "the scores' sums", log_sums(heads, inputs[0]), inputs[4]);
  expect_same(name(), "the output's gradient", output, inputs[5]);
  expect_masks(*this, inputs, 6);
  return {inputs[0], inputs[1], inputs[2]};
}

}  // namespace mirrortrain::ops
