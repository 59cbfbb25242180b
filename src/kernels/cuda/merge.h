#pragma once

#include "graph/graph.h"
#include "graph/ops/batch_norm.h"
#include "graph/ops/conv.h"
#include "graph/ops/loss.h"
#include "graph/ops/metric.h"
#include "graph/ops/pool2d.h"

namespace mirrortrain::cuda {

/// A program's graph with fewer nodes, each run by one kernel; values in `outputs` are still computed.
///  - a categorical loss also computes the accuracy of the same values, and includes the casts around it, as does one
///    of logits and class numbers without an accuracy;
///  - an input that is only cast is passed in the cast's dtype;
///  - the gradient of a convolution's kernel has the layout of filters_out_first;
///  - a batch normalization includes a following addition and relu;
///  - relu's gradient adds up its incoming gradients;
///  - the gradient of a max pooling after a convolution also computes the gradient of the convolution's bias;
///  - a dense layer includes gelu_tanh, and its input's gradient that function's (merge_gelu.h);
///  - wide logits and their gradient are in rows that begin at 16 bytes (merge_logits.h).
Graph merge(const Graph& graph, const std::vector<ValueId>& outputs);

// Fused ops, which merge() puts into a graph.

/// A sparse categorical crossentropy of logits, which may be in bfloat16. `classes`: as LossWithMetric's.
/// Inputs and outputs: Loss's; the gradient in y's dtype.
struct LossOfLogits : ops::Loss {
  std::int64_t classes = 0;
  explicit LossOfLogits(const ops::Loss& loss, std::int64_t of_longer_rows = 0)
      : ops::Loss(loss), classes(of_longer_rows) {}
  std::string_view name() const override { return "loss_of_logits"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

/// A categorical loss and the accuracy of the same values. `classes`: those of y's rows, if these are longer
/// (merge_logits.h); else 0.
/// Inputs: y as both read it, logits also in bfloat16; targets; optional weights, only for the loss. Outputs: the
/// loss's sum and gradient, the latter in y's dtype; the metric's sum.
struct LossWithMetric : Op {
  ops::Loss loss;
  ops::Metric metric;
  std::int64_t classes = 0;
  LossWithMetric(const ops::Loss& of_loss, const ops::Metric& of_metric, std::int64_t of_longer_rows = 0)
      : loss(of_loss), metric(of_metric), classes(of_longer_rows) {}
  std::string_view name() const override { return "loss_with_metric"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

/// A max pooling's gradient and its sums over all cells: the gradient of the bias that was added before.
/// Inputs as MaxPool2dGradient's. Outputs: gradient of x; the sums of its channels [channels] float32.
struct MaxPool2dGradientWithSums : ops::MaxPool2dGradient {
  explicit MaxPool2dGradientWithSums(const ops::MaxPool2dGradient& op) : ops::MaxPool2dGradient(op) {}
  std::string_view name() const override { return "max_pool2d_gradient_with_sums"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

/// A batch normalization, another tensor added, and relu of the sum.
/// Inputs: BatchNorm's; the added tensor, spec as x. Outputs: BatchNorm's.
struct BatchNormOfResidual : ops::BatchNorm {
  explicit BatchNormOfResidual(const ops::BatchNorm& op) : ops::BatchNorm(op.momentum, op.epsilon, {true}) {}
  std::string_view name() const override { return "batch_norm_of_residual"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  bool may_overwrite(std::size_t input) const override { return input == 5; }
};

/// The sum of relu's output's gradients, first to last, where the output is positive.
/// Inputs: relu's output; the gradients. Output: gradient of relu's input.
struct ReluGradientOfSum : Op {
  static constexpr std::size_t kMostTerms = 32;
  std::string_view name() const override { return "relu_gradient_of_sum"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  bool may_overwrite(std::size_t) const override { return true; }
};

/// Conv2dWeightGradient with the kernel's gradient as [out, height, width, in].
struct Conv2dOhwiWeightGradient : ops::Conv2dWeightGradient {
  explicit Conv2dOhwiWeightGradient(const ops::Conv2dWeightGradient& op) : ops::Conv2dWeightGradient(op) {}
  std::string_view name() const override { return "conv2d_ohwi_weight_gradient"; }
};

}  // namespace mirrortrain::cuda
