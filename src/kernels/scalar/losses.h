#pragma once

#include <cmath>

#include "graph/ops/loss.h"
#include "kernels/scalar/math.h"
#include "kernels/scalar/row.h"
#include "kernels/scalar/step_params.h"

// Losses as Keras has them, for all devices: a new one is a struct here and a line in with_loss. Each is the loss of
// one position (a row of the last axis): operator()(row, y, targets, dy, classes, scale) returns it and, unless dy is
// null, stores its gradient times scale. `row` shares out the elements (row.h); y and dy are float or bfloat16.
namespace mirrortrain::scalar {

/// What a loss adds for one element, with the derivative with respect to the prediction.
template <class Real>
struct LossTerm {
  Real value, slope;
};

/// (y - t)^2
struct SquaredError {
  template <class Real>
  MIRRORTRAIN_HOST_DEVICE LossTerm<Real> operator()(Real y, Real t) const {
    return {(y - t) * (y - t), 2.0f * (y - t)};
  }
};

/// A probability as the losses read it: clipped to [1e-7, 1 - 1e-7], with no slope outside.
template <class Real>
struct Clipped {
  using Mask = decltype(Real{} < Real{});
  Real value;
  Mask inside;
};

template <class Real>
MIRRORTRAIN_HOST_DEVICE inline Clipped<Real> clipped(Real p) {
  constexpr float kLow = 1e-7f, kHigh = static_cast<float>(1 - 1e-7);
  const Real raised = p < kLow ? all<Real>(kLow) : p;
  using Mask = typename Clipped<Real>::Mask;
  return {raised > kHigh ? all<Real>(kHigh) : raised, static_cast<Mask>((p >= kLow) & (p <= kHigh))};
}

/// -t ln p - (1 - t) ln(1 - p) with targets drawn towards 1/2 by `smoothing`.
struct BinaryCrossentropy {
  float smoothing = 0;
  template <class Real>
  MIRRORTRAIN_HOST_DEVICE LossTerm<Real> operator()(Real y, Real target) const {
    const Real t = target * (1.0f - smoothing) + 0.5f * smoothing;
    const auto [p, inside] = clipped(y);
    const Real value = -(t * scalar::log<Real>(p) + (1.0f - t) * scalar::log<Real>(1.0f - p));
    return {value, inside ? (p - t) / (p * (1.0f - p)) : Real{}};
  }
};

/// The same of logits, right for any of them.
struct BinaryCrossentropyOfLogits {
  float smoothing = 0;
  template <class Real>
  MIRRORTRAIN_HOST_DEVICE LossTerm<Real> operator()(Real y, Real target) const {
    const Real t = target * (1.0f - smoothing) + 0.5f * smoothing;
    return {softplus(y) - y * t, sigmoid(y) - t};
  }
};

/// The mean of a term per element.
template <class Term>
struct MeanOfTerms : ElementwiseMean {
  using Target = float;
  static constexpr bool kTargetPerClass = true;
  Term term;
  explicit MeanOfTerms(const Term& one = {}) : term(one) {}

  template <class Row, class T>
  MIRRORTRAIN_DEVICE double operator()(Row row, const T* y, const float* t, T* dy, std::int64_t classes,
                                       float scale) const {
    const float share = scale / static_cast<float>(classes);
    const double sum = row.exact_sum(classes, [&](auto i) {
      const auto one = term(row.load(y, i), row.load(t, i));
      if (dy != nullptr) row.store(dy, i, share * one.slope);
      return one.value;
    });
    return sum / static_cast<double>(classes);
  }
};

/// The terms e^(y - largest) of a row, and their sum.
template <class Row, class T>
struct Exponentials {
  using Real = typename Row::Real;
  Row row;
  const T *y, *kept;
  float largest, sum;

  /// `dy`, where there is one, may take the terms until the gradient does.
  MIRRORTRAIN_DEVICE Exponentials(Row r, const T* from, T* dy, std::int64_t classes)
      : row(r), y(from), kept(dy), largest(row.largest(classes, [&](auto i) { return row.load(y, i); })) {
    sum = row.sum(classes, [&](auto i) {
      const Real one = scalar::exp<Real>(row.load(y, i) - largest);
      if (Row::kKeeps && dy != nullptr) row.store(dy, i, one);
      return one;
    });
  }
  /// For gradients: where dy is not null.
  template <class Place>
  MIRRORTRAIN_DEVICE Real term(Place i) const {
    return Row::kKeeps ? row.load(kept, i) : scalar::exp<Real>(row.load(y, i) - largest);
  }
};

struct SparseOfLogits {
  using Target = std::int32_t;
  static constexpr bool kTargetPerClass = false;

  template <class Row, class T>
  MIRRORTRAIN_DEVICE double operator()(Row row, const T* y, const std::int32_t* label, T* dy, std::int64_t classes,
                                       float scale) const {
    const Exponentials<Row, T> terms(row, y, dy, classes);
    if (dy != nullptr) {
      const float share = scale / terms.sum;
      row.each(classes, [&](auto i) {
        const typename Row::Real value = terms.term(i) * share;
        row.store(dy, i, row.index(i) == *label ? value - scale : value);
      });
    }
    if (*label < 0 || *label >= classes) return NAN;
    return static_cast<double>(scalar::log(terms.sum)) +
           (static_cast<double>(terms.largest) - static_cast<double>(static_cast<float>(y[*label])));
  }
};

/// Of probabilities, which are clipped and then divided by their sum.
struct Sparse {
  using Target = std::int32_t;
  static constexpr bool kTargetPerClass = false;

  template <class Row, class T>
  MIRRORTRAIN_DEVICE double operator()(Row row, const T* y, const std::int32_t* label, T* dy, std::int64_t classes,
                                       float scale) const {
    using Real = typename Row::Real;
    const bool known = *label >= 0 && *label < classes;
    const float sum = row.sum(classes, [&](auto i) { return clipped<Real>(row.load(y, i)).value; });
    const Clipped<float> right = clipped(known ? static_cast<float>(y[*label]) : 0.0f);
    if (dy != nullptr) {
      const float share = known ? scale / sum : 0.0f, more = right.inside && known ? scale / right.value : 0.0f;
      row.each(classes, [&](auto i) {
        const Real value = clipped<Real>(row.load(y, i)).inside ? all<Real>(share) : Real{};
        row.store(dy, i, row.index(i) == *label ? value - more : value);
      });
    }
    return known ? -static_cast<double>(scalar::log(right.value / sum)) : NAN;
  }
};

/// A target of one class among `classes`, drawn towards 1 / classes.
template <class Real>
MIRRORTRAIN_HOST_DEVICE inline Real smoothed_class(Real target, float smoothing, std::int64_t classes) {
  return target * (1.0f - smoothing) + smoothing / static_cast<float>(classes);
}

struct CategoricalOfLogits {
  using Target = float;
  static constexpr bool kTargetPerClass = true;
  float smoothing;

  template <class Row, class T>
  MIRRORTRAIN_DEVICE double operator()(Row row, const T* y, const float* t, T* dy, std::int64_t classes,
                                       float scale) const {
    using Real = typename Row::Real;
    const Exponentials<Row, T> terms(row, y, dy, classes);
    const auto target = [&](auto i) { return smoothed_class<Real>(row.load(t, i), smoothing, classes); };
    const auto [loss, weight] = row.exact_sums(classes, [&, log_sum = scalar::log(terms.sum)](auto i) {
      const Real one = target(i);
      return Two<Real>{one * (log_sum + (terms.largest - row.load(y, i))), one};
    });
    if (dy != nullptr) {
      const float share = static_cast<float>(weight) / terms.sum;
      row.each(classes, [&](auto i) { row.store(dy, i, scale * (terms.term(i) * share - target(i))); });
    }
    return loss;
  }
};

/// Of probabilities, which are divided by their sum and then clipped.
struct Categorical {
  using Target = float;
  static constexpr bool kTargetPerClass = true;
  float smoothing;

  template <class Row, class T>
  MIRRORTRAIN_DEVICE double operator()(Row row, const T* y, const float* t, T* dy, std::int64_t classes,
                                       float scale) const {
    using Real = typename Row::Real;
    const float inverse = 1.0f / row.sum(classes, [&](auto i) { return row.load(y, i); });
    const auto target = [&](auto i) { return smoothed_class<Real>(row.load(t, i), smoothing, classes); };
    const auto share_of = [&](auto i) { return clipped<Real>(row.load(y, i) * inverse); };
    const double loss =
        row.exact_sum(classes, [&](auto i) -> Real { return -(target(i) * scalar::log<Real>(share_of(i).value)); });
    if (dy != nullptr) {
      // With p = y / sum: dy = (dp - sum(dp p)) / sum.
      const float dot = row.sum(classes, [&](auto i) -> Real { return share_of(i).inside ? -target(i) : Real{}; });
      row.each(classes, [&](auto i) {
        const Clipped<Real> p = share_of(i);
        const Real dp = p.inside ? -target(i) / p.value : Real{};
        row.store(dy, i, scale * inverse * (dp - dot));
      });
    }
    return loss;
  }
};

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
  }
  return function(MeanOfTerms<SquaredError>{});
}

/// The loss of the i-th position of a tensor, or of `together` from there on.
template <class Loss, class T>
struct LossOfPosition {
  Loss loss;
  const T* y;
  const typename Loss::Target* t;
  T* dy;
  PositionShape shape;
  const StepParams* step;

  /// Gradients are divided by the global batch, so that replicas can be summed.
  MIRRORTRAIN_HOST_DEVICE float scale() const {
    return static_cast<float>(1.0 / static_cast<double>(step->global_examples * shape.per_row));
  }
  template <class Row>
  MIRRORTRAIN_DEVICE double operator()(Row row, std::int64_t i, std::int64_t together, float scale) const {
    const std::int64_t classes = together * shape.classes;
    return static_cast<double>(together) *
           loss(row, y + i * shape.classes, t + i * (Loss::kTargetPerClass ? shape.classes : 1),
                dy == nullptr ? nullptr : dy + i * shape.classes, classes, static_cast<float>(together) * scale);
  }
  template <class Row>
  MIRRORTRAIN_DEVICE double operator()(Row row, std::int64_t i) const {
    return (*this)(row, i, 1, scale());
  }
};

}  // namespace mirrortrain::scalar
