#pragma once

#include <vector>

#include "graph/graph.h"
#include "graph/ops/batch_norm.h"
#include "graph/ops/conv.h"

namespace mirrortrain::cuda {

/// The graph with convolutions and the batch normalizations (with statistics of the batch) that follow them as one op
/// each, so that a convolution can leave the sums that the statistics come from. Only in bfloat16
/// (batch_norm_of_sums.h), and for convolutions without groups whose output nobody else reads in between. After
/// merge()'s other passes: a normalization may have taken in a residual.
Graph merge_statistics(const Graph& graph, const std::vector<ValueId>& outputs);

/// A convolution, and the batch normalization of its output; perhaps of a residual, too (merge.h).
/// Inputs: x; kernel; bias or absent; then the normalization's, but its first. Outputs: the normalization's; then the
/// convolution's, which a kernel puts where the first goes if it is not wanted itself.
struct Conv2dBatchNorm : ops::Conv2d {
  /// Inputs of the convolution, and outputs of the normalization.
  static constexpr std::size_t kOfConvolution = 3, kOfNorm = 5;

  ops::BatchNorm norm;
  bool of_residual;
  Conv2dBatchNorm(const ops::Conv2d& op, const ops::BatchNorm& of_output, bool with_residual)
      : ops::Conv2d(op), norm(of_output), of_residual(with_residual) {}
  std::string_view name() const override { return "conv2d_batch_norm"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  /// The residual is read when the convolution is done.
  bool may_overwrite(std::size_t input) const override { return input == kOfConvolution + 4; }
};

}  // namespace mirrortrain::cuda
