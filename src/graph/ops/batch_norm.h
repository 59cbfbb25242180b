#pragma once

#include <limits>

#include "graph/graph.h"

namespace mirrortrain::ops {

/// relu or relu6 of the normalized values, fused into the same pass; or neither.
struct Rectifier {
  bool on = false;
  float most = std::numeric_limits<float>::infinity();  ///< y = min(most, max(0, normalized))
  explicit operator bool() const { return on; }
};

/// Batch normalization over every axis but the last, with the statistics of this replica's batch (training).
/// Inputs: x batched [..., channels] float32 or bfloat16; gamma [channels] or absent; beta [channels] or absent;
/// moving_mean [channels]; moving_variance [channels]; all but x float32.
/// Outputs: y as x; batch mean [channels] float32; inverse standard deviation 1 / sqrt(variance + epsilon) [channels]
/// float32; new moving_mean and new moving_variance [channels] float32: moving * momentum + batch * (1 - momentum),
/// with the biased batch variance, as Keras has it.
struct BatchNorm : Op {
  float momentum = 0.99f, epsilon = 1e-3f;
  Rectifier relu;
  BatchNorm(float momentum_, float epsilon_, Rectifier with_relu = {})
      : momentum(momentum_), epsilon(epsilon_), relu(with_relu) {}
  std::string_view name() const override { return "batch_norm"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

/// Inputs: x; gradient of y; gamma or absent; mean; inverse standard deviation; with `relu` also beta or absent: relu's
/// mask is recomputed, which costs less than reading y.
/// Outputs: gradient of x; gradient of gamma [channels] float32; gradient of beta [channels] float32.
struct BatchNormGradient : Op {
  Rectifier relu;
  explicit BatchNormGradient(Rectifier with_relu) : relu(with_relu) {}
  std::string_view name() const override { return "batch_norm_gradient"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

/// Batch normalization with the moving statistics (evaluation, and frozen layers in training: its gradient is linear in
/// x). Inputs as BatchNorm's. Output: y.
struct BatchNormInference : Op {
  float epsilon = 1e-3f;
  Rectifier relu;
  explicit BatchNormInference(float epsilon_, Rectifier with_relu = {}) : epsilon(epsilon_), relu(with_relu) {}
  std::string_view name() const override { return "batch_norm_inference"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

/// Inputs: gradient of y; gamma or absent; moving_variance; with `relu` also y. Output: gradient of x.
struct BatchNormInferenceGradient : Op {
  float epsilon = 1e-3f;
  Rectifier relu;
  BatchNormInferenceGradient(float epsilon_, Rectifier with_relu) : epsilon(epsilon_), relu(with_relu) {}
  std::string_view name() const override { return "batch_norm_inference_gradient"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

}  // namespace mirrortrain::ops
