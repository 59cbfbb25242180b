#pragma once

#include <vector>

#include "graph/graph.h"
#include "graph/ops/batch_norm.h"
#include "graph/ops/conv.h"

namespace mirrortrain::cuda {

/// The graph with convolutions and the batch normalizations (with statistics of the batch) that follow them as one op
/// each, so that a convolution can leave the sums that the statistics come from. Only in bfloat16
/// (batch_norm_of_sums.h), for linear convolutions without groups, and where the normalization is the first of several
/// nodes that read the convolution's output, none of which are outside of the graph. After merge()'s other passes: a
/// normalization may have taken in a residual. Values in `outputs` are still computed.
Graph merge_statistics(const Graph& graph, const std::vector<ValueId>& outputs);

/// A convolution, and the batch normalization of its output; perhaps of a residual, too (merge.h).
/// Inputs: x [n, h, w, in]; kernel [h, w, in / groups, out] float32; bias [out] float32 or absent; then the
/// normalization's, but its first: gamma and beta, which may be absent, the moving mean and variance, each [out]
/// float32, and the residual, of the same spec as the convolution's output. Outputs: the normalization's, y and four
/// vectors [out] float32; then the convolution's, of y's spec.
struct Conv2dBatchNorm : ops::Conv2d {
  /// Inputs of the convolution, and outputs of the normalization.
  static constexpr std::size_t kOfConvolution = 3, kOfNorm = 5;

  ops::BatchNorm norm;
  bool of_residual;
  /// Whether the convolution's output always has memory, because somebody reads it: no room is needed for it elsewhere.
  bool convolved_is_read;
  Conv2dBatchNorm(const ops::Conv2d& op, const ops::BatchNorm& of_output, bool with_residual, bool is_read = false)
      : ops::Conv2d(op), norm(of_output), of_residual(with_residual), convolved_is_read(is_read) {}
  std::string_view name() const override { return "conv2d_batch_norm"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  /// The residual is read when the convolution is done.
  bool may_overwrite(std::size_t input) const override { return input == kOfConvolution + 4; }
};

}  // namespace mirrortrain::cuda
