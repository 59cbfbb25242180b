#include "graph/ops/batch_norm.h"

#include "graph/ops/norm_checks.h"

namespace mirrortrain::ops {
namespace {

/// x; gamma or absent; beta or absent; moving_mean; moving_variance.
void expect_inputs(std::string_view op, std::span<const ValueSpec> inputs) {
  expect_x(op, inputs[0]);
  expect_channels(op, "gamma", inputs[0], inputs[1], true);
  expect_channels(op, "beta", inputs[0], inputs[2], true);
  expect_channels(op, "moving_mean", inputs[0], inputs[3]);
  expect_channels(op, "moving_variance", inputs[0], inputs[4]);
}

}  // namespace

std::vector<ValueSpec> BatchNorm::infer(std::span<const ValueSpec> inputs) const {
  expect_inputs(name(), inputs);
  const ValueSpec channels = per_channel(inputs[0]);
  return {inputs[0], channels, channels, channels, channels};
}

std::vector<ValueId> BatchNorm::gradient(Graph& graph, const Node& node, std::span<const ValueId> output_gradients,
                                         const std::vector<bool>& wanted) const {
  if (output_gradients[0] == kNoValue) return std::vector<ValueId>(node.inputs.size(), kNoValue);
  std::vector<ValueId> inputs{node.inputs[0], output_gradients[0], node.inputs[1], node.outputs[1], node.outputs[2]};
  if (relu) inputs.push_back(node.inputs[2]);
  // x, gamma and beta are both the first inputs here and the outputs there.
  return wanted_of(graph.apply(BatchNormGradient(relu), std::move(inputs)), wanted);
}

std::vector<ValueSpec> BatchNormGradient::infer(std::span<const ValueSpec> inputs) const {
  const ValueSpec& x = inputs[0];
  expect_x(name(), x);
  expect_same(name(), "the output's gradient", x, inputs[1]);
  expect_channels(name(), "gamma", x, inputs[2], true);
  expect_channels(name(), "the mean", x, inputs[3]);
  expect_channels(name(), "the inverse standard deviation", x, inputs[4]);
  if (relu) expect_channels(name(), "beta", x, inputs[5], true);
  return {x, per_channel(x), per_channel(x)};
}

std::vector<ValueSpec> BatchNormInference::infer(std::span<const ValueSpec> inputs) const {
  expect_inputs(name(), inputs);
  return {inputs[0]};
}

std::vector<ValueId> BatchNormInference::gradient(Graph& graph, const Node& node,
                                                  std::span<const ValueId> output_gradients,
                                                  const std::vector<bool>& wanted) const {
  std::vector<ValueId> gradients(node.inputs.size(), kNoValue);
  if (wanted[1] || wanted[2]) {
    throw Error("batch_norm_inference: gamma and beta have no gradient; use batch_norm where they are trained");
  }
  if (!wanted[0] || output_gradients[0] == kNoValue) return gradients;
  std::vector<ValueId> inputs{output_gradients[0], node.inputs[1], node.inputs[4]};
  if (relu) inputs.push_back(node.outputs[0]);
  gradients[0] = graph.apply_one(BatchNormInferenceGradient(epsilon, relu), std::move(inputs));
  return gradients;
}

std::vector<ValueSpec> BatchNormInferenceGradient::infer(std::span<const ValueSpec> inputs) const {
  const ValueSpec& dy = inputs[0];
  expect_x(name(), dy);
  expect_channels(name(), "gamma", dy, inputs[1], true);
  expect_channels(name(), "moving_variance", dy, inputs[2]);
  if (relu) expect_same(name(), "the output", dy, inputs[3]);
  return {dy};
}

}  // namespace mirrortrain::ops
