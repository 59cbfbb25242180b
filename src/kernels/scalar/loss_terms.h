#pragma once

#include <cmath>

#include "kernels/scalar/math.h"

// The terms of losses for one element, for all devices; kernels/scalar/losses.h adds them up. Each works on a float and
// on a vector of floats.
namespace mirrortrain::scalar {

/// A loss's term for one element, with its derivative with respect to the prediction.
template <class Real>
struct LossTerm {
  Real value, slope;
};

/// -1, 0 or 1.
template <class Real>
MIRRORTRAIN_HOST_DEVICE inline Real sign_of(Real x) {
  return x > 0.0f ? all<Real>(1.0f) : x < 0.0f ? all<Real>(-1.0f) : Real{};
}

/// (y - t)^2
struct SquaredError {
  template <class Real>
  MIRRORTRAIN_HOST_DEVICE LossTerm<Real> operator()(Real y, Real t) const {
    return {(y - t) * (y - t), 2.0f * (y - t)};
  }
};

/// y
struct OutputItself {
  template <class Real>
  MIRRORTRAIN_HOST_DEVICE LossTerm<Real> operator()(Real y, Real) const {
    return {y, all<Real>(1.0f)};
  }
};

/// |y - t|
struct AbsoluteError {
  template <class Real>
  MIRRORTRAIN_HOST_DEVICE LossTerm<Real> operator()(Real y, Real t) const {
    const Real e = y - t;
    return {magnitude<Real>(e), sign_of<Real>(e)};
  }
};

/// e^2 / 2 of e = y - t up to |e| = delta, and a straight line of that slope beyond.
struct HuberError {
  float delta = 1;
  template <class Real>
  MIRRORTRAIN_HOST_DEVICE LossTerm<Real> operator()(Real y, Real t) const {
    const Real e = y - t, size = magnitude<Real>(e);
    return {size <= delta ? 0.5f * e * e : delta * (size - 0.5f * delta), size <= delta ? e : delta * sign_of<Real>(e)};
  }
};

/// ln cosh(y - t), as |e| + ln((1 + e^(-2 |e|)) / 2).
struct LogCosh {
  template <class Real>
  MIRRORTRAIN_HOST_DEVICE LossTerm<Real> operator()(Real y, Real t) const {
    const Real e = y - t, size = magnitude<Real>(e), k = expm1_negative<Real>(-2.0f * size);
    const Real slope = -k / (2.0f + k);  // tanh |e|
    return {size + log1p<Real>(0.5f * k), e < 0.0f ? -slope : slope};
  }
};

/// y - t ln(y + 1e-7), which is NaN where the logarithm is.
struct Poisson {
  template <class Real>
  MIRRORTRAIN_HOST_DEVICE LossTerm<Real> operator()(Real y, Real t) const {
    const Real raised = y + 1e-7f, logarithm = raised > 0.0f ? scalar::log<Real>(raised) : all<Real>(NAN);
    return {y - t * logarithm, 1.0f - t / raised};
  }
};

/// max(1 - t y, 0) for t = -1 or 1; a target of 0 counts as -1.
struct Hinge {
  template <class Real>
  MIRRORTRAIN_HOST_DEVICE LossTerm<Real> operator()(Real y, Real target) const {
    const Real t = target == 0.0f ? all<Real>(-1.0f) : target, margin = 1.0f - t * y;
    return {margin < 0.0f ? Real{} : margin, margin > 0.0f ? -t : Real{}};
  }
};

/// t ln(t / y), both clipped to [1e-7, 1].
struct KlDivergence {
  template <class Real>
  MIRRORTRAIN_HOST_DEVICE LossTerm<Real> operator()(Real y, Real target) const {
    const Real t = limited<Real>(target), p = limited<Real>(y);
    return {t * (scalar::log<Real>(t) - scalar::log<Real>(p)), (y >= kLow) & (y <= 1.0f) ? -t / p : Real{}};
  }

 private:
  static constexpr float kLow = 1e-7f;
  template <class Real>
  MIRRORTRAIN_HOST_DEVICE static Real limited(Real p) {
    const Real raised = p < kLow ? all<Real>(kLow) : p;
    return raised > 1.0f ? all<Real>(1.0f) : raised;
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

/// The same for logits, accurate for all of them.
struct BinaryCrossentropyOfLogits {
  float smoothing = 0;
  template <class Real>
  MIRRORTRAIN_HOST_DEVICE LossTerm<Real> operator()(Real y, Real target) const {
    const Real t = target * (1.0f - smoothing) + 0.5f * smoothing;
    return {softplus(y) - y * t, sigmoid(y) - t};
  }
};

/// Binary crossentropy times (1 - p_t)^gamma, where p_t is the probability given to the target, drawn towards 1/2 by
/// `smoothing`. With class balancing, true ones have weight alpha and the others 1 - alpha.
struct BinaryFocal {
  float smoothing = 0, alpha = 0.25f, gamma = 2;
  bool balanced = false;

  template <class Real>
  MIRRORTRAIN_HOST_DEVICE LossTerm<Real> operator()(Real y, Real target) const {
    return weighted<Real>(BinaryCrossentropy{smoothing}(y, target), y, all<Real>(1.0f), target);
  }

 protected:
  /// The crossentropy's term, weighted by the error of the probability `y`. `slope`: that of the probability.
  template <class Real>
  MIRRORTRAIN_HOST_DEVICE LossTerm<Real> weighted(LossTerm<Real> crossentropy, Real y, Real slope, Real target) const {
    const auto [loss, loss_slope] = crossentropy;
    const Real t = target * (1.0f - smoothing) + 0.5f * smoothing;
    // An error of exactly 0 has no logarithm; its power is still 0.
    constexpr float kLeast = 1e-12f;
    const Real exact = 1.0f - (t * y + (1.0f - t) * (1.0f - y)), miss = exact < kLeast ? all<Real>(kLeast) : exact;
    const Real factor = scalar::exp<Real>(gamma * scalar::log<Real>(miss));
    const Real factor_slope = gamma * (factor / miss) * (1.0f - 2.0f * t) * slope;
    const Real weight = balanced ? t * alpha + (1.0f - t) * (1.0f - alpha) : all<Real>(1.0f);
    return {weight * factor * loss, weight * (factor * loss_slope + factor_slope * loss)};
  }
};

/// The same for logits: the crossentropy of the logits, so that errors of any size have a gradient, weighted by the
/// probability's error.
struct BinaryFocalOfLogits : BinaryFocal {
  template <class Real>
  MIRRORTRAIN_HOST_DEVICE LossTerm<Real> operator()(Real y, Real target) const {
    const Real p = sigmoid<Real>(y);
    return weighted<Real>(BinaryCrossentropyOfLogits{smoothing}(y, target), p, p * (1.0f - p), target);
  }
};

}  // namespace mirrortrain::scalar
