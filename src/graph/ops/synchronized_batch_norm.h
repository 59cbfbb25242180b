#pragma once

#include "graph/ops/batch_norm.h"

namespace mirrortrain::ops {

// Batch normalization over every axis but the last, by sums: BatchNorm split into ops, between which the replicas' sums
// are added up (collective.h) if the statistics are those of the global batch. A mask (mask.h) may exclude
// cells from the statistics; all cells are normalized.

/// Inputs: x batched [..., channels] float32 or bfloat16; its mask or absent.
/// Output: float64 [2 channels + 1]: each channel's sum of x, then its sum of x^2, then the number of cells.
struct BatchNormSums : Op {
  std::string_view name() const override { return "batch_norm_sums"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

/// Inputs: x; gamma [channels] or absent; beta [channels] or absent; BatchNormSums' output, added over the replicas
/// where `synchronized`; the mask or absent; all but x and the sums float32. Outputs: y as x; mean [channels] float32;
/// inverse standard deviation 1 / sqrt(variance + epsilon) [channels] float32.
struct BatchNormBySums : Op {
  float epsilon = 1e-3f;
  Rectifier relu;
  bool synchronized = true;
  explicit BatchNormBySums(float epsilon_, Rectifier with_relu = {}, bool over_replicas = true)
      : epsilon(epsilon_), relu(with_relu), synchronized(over_replicas) {}
  std::string_view name() const override { return "batch_norm_by_sums"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

/// Inputs: BatchNormSums' output added over the replicas; moving_mean; moving_variance, [channels] float32.
/// Outputs: their new values, as BatchNorm's.
struct MovingStatistics : Op {
  float momentum = 0.99f;
  explicit MovingStatistics(float momentum_) : momentum(momentum_) {}
  std::string_view name() const override { return "moving_statistics"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

/// The options of batch renormalization (Ioffe, 2017).
struct RenormOptions {
  float momentum = 0.99f;         ///< of the moving statistics, which evaluation reads
  float renorm_momentum = 0.99f;  ///< of those that a batch's are corrected to
  float epsilon = 1e-3f;
  float least_scale = 0, most_scale = std::numeric_limits<float>::infinity();
  float most_shift = std::numeric_limits<float>::infinity();  ///< in either direction
};

/// Inputs: BatchNormSums' output added over the replicas; renorm_mean; renorm_stddev; moving_mean; moving_stddev,
/// [channels] float32. Outputs, [channels] float32: the scale and the shift that correct normalized values to the
/// statistics before the batch, through which no gradient flows; the new values of the four inputs; the new
/// moving_variance.
struct RenormStatistics : Op {
  RenormOptions options;
  explicit RenormStatistics(const RenormOptions& of) : options(of) {}
  std::string_view name() const override { return "renorm_statistics"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

/// Inputs: x; gradient of y; mean; inverse standard deviation; with `relu` also gamma and beta, each or absent. A mask
/// has no effect here.
/// Outputs: float64 [2 channels]: each channel's sum of the gradient, then of its product with x - mean; of this
/// replica's rows: gradient of gamma [channels] float32; gradient of beta [channels] float32.
struct BatchNormGradientSums : Op {
  Rectifier relu;
  explicit BatchNormGradientSums(Rectifier with_relu) : relu(with_relu) {}
  std::string_view name() const override { return "batch_norm_gradient_sums"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

/// Inputs: x; gradient of y; gamma or absent; mean; inverse standard deviation; the outputs of BatchNormSums and of
/// BatchNormGradientSums, added over the replicas; beta with `relu`, or absent; the mask or absent. Output: gradient of
/// x.
struct BatchNormGradientBySums : Op {
  Rectifier relu;
  explicit BatchNormGradientBySums(Rectifier with_relu) : relu(with_relu) {}
  std::string_view name() const override { return "batch_norm_gradient_by_sums"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

}  // namespace mirrortrain::ops
