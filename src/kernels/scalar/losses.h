#pragma once

#include "graph/ops/loss.h"
#include "kernels/scalar/row_losses.h"
#include "kernels/scalar/step_params.h"

// Losses as Keras has them, for all devices: a new one is a struct in row_losses.h, or a term in loss_terms.h, and a
// line in with_loss.
namespace mirrortrain::scalar {

/// Calls function(functor) with the struct of a loss, on the host.
template <class Function>
auto with_loss(const ops::Loss& op, const Function& function) {
  switch (op.kind) {
    case ops::LossKind::kMeanSquaredError: break;
    case ops::LossKind::kBinaryCrossentropy:
      if (op.from_logits) return function(MeanOfTerms<BinaryCrossentropyOfLogits>({op.label_smoothing}));
      return function(MeanOfTerms<BinaryCrossentropy>({op.label_smoothing}));
    case ops::LossKind::kCategoricalCrossentropy:
      if (op.from_logits) return function(CategoricalOfLogits{op.label_smoothing});
      return function(Categorical{op.label_smoothing});
    case ops::LossKind::kSparseCategoricalCrossentropy:
      if (op.from_logits) return function(SparseOfLogits{});
      return function(Sparse{});
    case ops::LossKind::kGeneralizedCrossentropy: return function(GeneralizedCrossentropy{op.q});
    case ops::LossKind::kMeanAbsoluteError: return function(MeanOfTerms<AbsoluteError>{});
    case ops::LossKind::kHuber: return function(MeanOfTerms<HuberError>({op.delta}));
    case ops::LossKind::kLogCosh: return function(MeanOfTerms<LogCosh>{});
    case ops::LossKind::kKlDivergence: return function(SumOfTerms<KlDivergence>{});
    case ops::LossKind::kPoisson: return function(MeanOfTerms<Poisson>{});
    case ops::LossKind::kHinge: return function(MeanOfTerms<Hinge>{});
    case ops::LossKind::kOutput: return function(MeanOfTerms<OutputItself>{});
    case ops::LossKind::kCosineSimilarity: return function(CosineSimilarity{});
    case ops::LossKind::kBinaryFocalCrossentropy: {
      const BinaryFocal focal{op.label_smoothing, op.alpha, op.gamma, op.balances_classes};
      if (op.from_logits) return function(MeanOfTerms<BinaryFocalOfLogits>(BinaryFocalOfLogits{focal}));
      return function(MeanOfTerms<BinaryFocal>(focal));
    }
  }
  return function(MeanOfTerms<SquaredError>{});
}

/// The weighted loss of the i-th position of a tensor, or without weights of `together` positions from there on.
template <class Loss, class T>
struct LossOfPosition {
  Loss loss;
  const T* y;
  const typename Loss::Target* t;
  const float* weights;  ///< of the rows; null: 1
  T* dy;
  PositionShape shape;
  const StepParams* step;
  PositionMask mask;
  const double* counted;  ///< elements of the mask that count in the global batch; null without a mask

  /// Gradients are divided by the global batch, so that replicas can be summed.
  MIRRORTRAIN_HOST_DEVICE float scale() const {
    if (counted != nullptr) {
      return *counted > 0 ? static_cast<float>(1.0 / (*counted * static_cast<double>(mask.together))) : 0.0f;
    }
    return static_cast<float>(1.0 / static_cast<double>(step->global_examples * shape.per_row));
  }
  template <class Row>
  MIRRORTRAIN_DEVICE double operator()(Row row, std::int64_t i, std::int64_t together, float scale) const {
    const std::int64_t classes = together * shape.classes;
    if (!mask.counts(i)) {
      if (dy != nullptr) row.each(classes, [&](auto k) { row.store(dy + i * shape.stride, k, typename Row::Real{}); });
      return 0;
    }
    const float weight = static_cast<float>(together) * (weights == nullptr ? 1.0f : weights[i / shape.per_row]);
    return static_cast<double>(weight) * loss(row, y + i * shape.stride,
                                              t + i * (Loss::kTargetPerClass ? shape.classes : 1),
                                              dy == nullptr ? nullptr : dy + i * shape.stride, classes, weight * scale);
  }
  template <class Row>
  MIRRORTRAIN_DEVICE double operator()(Row row, std::int64_t i) const {
    return (*this)(row, i, 1, scale());
  }
};

}  // namespace mirrortrain::scalar
