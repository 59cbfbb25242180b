#include "graph/ops/synchronized_batch_norm.h"

#include "graph/ops/collective.h"
#include "graph/ops/mask.h"
#include "graph/ops/norm_checks.h"

namespace mirrortrain::ops {
namespace {

ValueSpec sums_of(std::int64_t numbers) { return {DType::kFloat64, {numbers}, false}; }

/// The spec of BatchNormSums' output for x.
ValueSpec batch_sums(const ValueSpec& x) { return sums_of(2 * x.shape.back() + 1); }
/// The spec of BatchNormGradientSums' sums for x.
ValueSpec gradient_sums(const ValueSpec& x) { return sums_of(2 * x.shape.back()); }

void expect_mask_of_x(const Op& op, std::span<const ValueSpec> inputs, std::size_t number) {
  const Shape& x = inputs[0].shape;
  if (inputs.size() > number) expect_mask(op.name(), Shape({x.begin(), x.end() - 1}), inputs[number], true);
}

}  // namespace

std::vector<ValueSpec> BatchNormSums::infer(std::span<const ValueSpec> inputs) const {
  expect_x(name(), inputs[0]);
  expect_mask_of_x(*this, inputs, 1);
  return {batch_sums(inputs[0])};
}

std::vector<ValueSpec> BatchNormBySums::infer(std::span<const ValueSpec> inputs) const {
  const ValueSpec& x = inputs[0];
  expect_x(name(), x);
  expect_channels(name(), "gamma", x, inputs[1], true);
  expect_channels(name(), "beta", x, inputs[2], true);
  expect_same(name(), "the sums", batch_sums(x), inputs[3]);
  expect_mask_of_x(*this, inputs, 4);
  return {x, per_channel(x), per_channel(x)};
}

std::vector<ValueId> BatchNormBySums::gradient(Graph& graph, const Node& node,
                                               std::span<const ValueId> output_gradients,
                                               const std::vector<bool>& wanted) const {
  std::vector<ValueId> gradients(node.inputs.size(), kNoValue);
  const ValueId dy = output_gradients[0];
  if (dy == kNoValue) return gradients;
  const ValueId x = node.inputs[0], mean = node.outputs[1], inverse = node.outputs[2];
  std::vector<ValueId> inputs{x, dy, mean, inverse};
  if (relu) inputs.insert(inputs.end(), {node.inputs[1], node.inputs[2]});
  const std::vector<ValueId> sums = graph.apply(BatchNormGradientSums(relu), std::move(inputs));
  if (wanted[1]) gradients[1] = sums[1];
  if (wanted[2]) gradients[2] = sums[2];
  if (!wanted[0]) return gradients;
  // Every replica's x affects the statistics that normalize all of them.
  const ValueId total = synchronized ? graph.apply_one(AllReduce(Axis::kData), {sums[0]}) : sums[0];
  const ValueId mask = node.inputs.size() > 4 ? node.inputs[4] : kNoValue;
  inputs = {x, dy, node.inputs[1], mean, inverse, node.inputs[3], total, relu ? node.inputs[2] : kNoValue, mask};
  gradients[0] = graph.apply_one(BatchNormGradientBySums(relu), std::move(inputs));
  return gradients;
}

std::vector<ValueSpec> MovingStatistics::infer(std::span<const ValueSpec> inputs) const {
  const ValueSpec& moving_mean = inputs[1];
  expect(!moving_mean.batched && moving_mean.shape.rank() == 1, name(), "[channels]", moving_mean);
  expect_channels(name(), "moving_mean", moving_mean, moving_mean);
  expect_same(name(), "moving_variance", moving_mean, inputs[2]);
  expect_same(name(), "the sums", batch_sums(moving_mean), inputs[0]);
  return {moving_mean, moving_mean};
}

std::vector<ValueSpec> RenormStatistics::infer(std::span<const ValueSpec> inputs) const {
  const ValueSpec& mean = inputs[1];
  expect(!mean.batched && mean.shape.rank() == 1, name(), "[channels]", mean);
  expect_channels(name(), "renorm_mean", mean, mean);
  for (const ValueSpec& other : inputs.subspan(2)) expect_same(name(), "a statistic", mean, other);
  expect_same(name(), "the sums", batch_sums(mean), inputs[0]);
  return std::vector<ValueSpec>(7, mean);
}

std::vector<ValueId> RenormStatistics::gradient(Graph&, const Node& node, std::span<const ValueId>,
                                                const std::vector<bool>&) const {
  return std::vector<ValueId>(node.inputs.size(), kNoValue);
}

std::vector<ValueSpec> BatchNormGradientSums::infer(std::span<const ValueSpec> inputs) const {
  const ValueSpec& x = inputs[0];
  expect_x(name(), x);
  expect_same(name(), "the output's gradient", x, inputs[1]);
  expect_channels(name(), "the mean", x, inputs[2]);
  expect_channels(name(), "the inverse standard deviation", x, inputs[3]);
  if (relu) {
    expect_channels(name(), "gamma", x, inputs[4], true);
    expect_channels(name(), "beta", x, inputs[5], true);
  }
  return {gradient_sums(x), per_channel(x), per_channel(x)};
}

std::vector<ValueSpec> BatchNormGradientBySums::infer(std::span<const ValueSpec> inputs) const {
  const ValueSpec& x = inputs[0];
  expect_x(name(), x);
  expect_same(name(), "the output's gradient", x, inputs[1]);
  expect_channels(name(), "gamma", x, inputs[2], true);
  expect_channels(name(), "the mean", x, inputs[3]);
  expect_channels(name(), "the inverse standard deviation", x, inputs[4]);
  expect_same(name(), "the sums of the batch", batch_sums(x), inputs[5]);
  expect_same(name(), "the sums of the gradient", gradient_sums(x), inputs[6]);
  if (relu) expect_channels(name(), "beta", x, inputs[7], true);
  expect_mask_of_x(*this, inputs, 8);
  return {x};
}

}  // namespace mirrortrain::ops
