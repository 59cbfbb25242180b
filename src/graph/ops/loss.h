#pragma once

#include "graph/graph.h"

namespace mirrortrain::ops {

enum class LossKind : std::uint8_t {
  kMeanSquaredError,               ///< mean over the last axis of (y - t)^2
  kBinaryCrossentropy,             ///< mean over the last axis; y are logits or probabilities
  kCategoricalCrossentropy,        ///< targets like y
  kSparseCategoricalCrossentropy,  ///< labels are class numbers: batched [] or [1] (or one per position), int32
  kMeanAbsoluteError,              ///< mean of |y - t|
  kHuber,                          ///< mean of (y - t)^2 / 2 up to |y - t| = delta, straight lines beyond
  kLogCosh,                        ///< mean of ln cosh(y - t)
  kKlDivergence,                   ///< sum of t ln(t / y), both clipped to [1e-7, 1]
  kPoisson,                        ///< mean of y - t ln(y + 1e-7)
  kHinge,                          ///< mean of max(1 - t y, 0); a target of 0 counts as -1
  kCosineSimilarity,               ///< minus the cosine of the angle between y and t
  kBinaryFocalCrossentropy,        ///< kBinaryCrossentropy times (1 - the target's probability)^gamma
  kGeneralizedCrossentropy,        ///< (1 - p^q) / q of the probability p of the label; labels are class numbers
  kOutput,                         ///< mean of y, which is a loss already; targets are like y, and not read
};

/// Whether each element of y and the targets is the probability of a binary outcome.
constexpr bool is_binary(LossKind kind) {
  return kind == LossKind::kBinaryCrossentropy || kind == LossKind::kBinaryFocalCrossentropy;
}

/// Whether labels are class numbers.
constexpr bool reads_class_numbers(LossKind kind) {
  return kind == LossKind::kSparseCategoricalCrossentropy || kind == LossKind::kGeneralizedCrossentropy;
}

/// Per-example losses as in Keras: reduced over the last axis, then averaged over all axes between the row and the
/// last. Inputs: y batched [..., k] float32; targets batched, float32 like y (int32 for class numbers); optional
/// weights batched [] float32, by which each row's loss is multiplied; an optional mask (mask.h) of the positions, or
/// of the first axes of them, and with it optionally how many tokens of the global batch count, float64 []. Outputs:
/// the sum over rows, float64 []; and the gradient of (sum / global examples of the step) with respect to y, batched
/// like y, float32 (null where not wanted, as in evaluation). With a mask, only positions that count add to the sum,
/// and the first output is float64 [2]: that sum, and the positions that count; both divided by the positions of a row,
/// so that their quotient is the mean over the positions that count. The gradient is then that of the sum / positions
/// that count in the global batch, whose number must be given. `from_logits` false: y are probabilities, clipped to
/// [1e-7, 1 - 1e-7] as Keras does (categorical ones are first divided by their sum). `label_smoothing`, for the binary
/// and categorical ones, and the options of single losses are as in Keras. A loss op is where gradients start: its
/// gradient() ignores the gradients of its outputs.
struct Loss : Op {
  LossKind kind;
  bool from_logits = false;
  float label_smoothing = 0;
  float delta = 1;                ///< of kHuber
  float alpha = 0.25, gamma = 2;  ///< of kBinaryFocalCrossentropy
  float q = 0.5f;                 ///< of kGeneralizedCrossentropy, between 0 and 1
  bool balances_classes = false;  ///< whether it weights true ones by alpha and the others by 1 - alpha
  explicit Loss(LossKind k, bool logits = false, float smoothing = 0)
      : kind(k), from_logits(logits), label_smoothing(smoothing) {}
  std::string_view name() const override { return "loss"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

}  // namespace mirrortrain::ops
