#pragma once

#include <cmath>

#include "kernels/scalar/loss_terms.h"
#include "kernels/scalar/math.h"
#include "kernels/scalar/row.h"

// Each struct is the loss of one position (a row of the last axis): operator()(row, y, targets, dy, classes, scale)
// returns it and, unless dy is null, stores its gradient times scale. `row` shares out the elements (row.h); y and dy
// are float or bfloat16.
namespace mirrortrain::scalar {

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

/// The sum of a term per element.
template <class Term>
struct SumOfTerms {
  using Target = float;
  static constexpr bool kTargetPerClass = true;
  Term term;

  template <class Row, class T>
  MIRRORTRAIN_DEVICE double operator()(Row row, const T* y, const float* t, T* dy, std::int64_t classes,
                                       float scale) const {
    return row.exact_sum(classes, [&](auto i) {
      const auto one = term(row.load(y, i), row.load(t, i));
      if (dy != nullptr) row.store(dy, i, scale * one.slope);
      return one.value;
    });
  }
};

/// Minus the cosine of the angle between y and t; a vector shorter than 1e-7 is treated as having that length.
struct CosineSimilarity {
  using Target = float;
  static constexpr bool kTargetPerClass = true;

  template <class Row, class T>
  MIRRORTRAIN_DEVICE double operator()(Row row, const T* y, const float* t, T* dy, std::int64_t classes,
                                       float scale) const {
    using Real = typename Row::Real;
    const auto [yy, tt] = row.exact_sums(classes, [&](auto i) {
      const Real a = row.load(y, i), b = row.load(t, i);
      return Two<Real>{a * a, b * b};
    });
    const double yt = row.exact_sum(classes, [&](auto i) -> Real { return row.load(y, i) * row.load(t, i); });
    const double y_inverse = inverse_length(yy), both = y_inverse * inverse_length(tt);
    if (dy != nullptr) {
      // d(-cos) = -t / (|y| |t|) + y cos / |y|^2; the second part is the length's, which is constant where it is tiny.
      const auto of_t = static_cast<float>(-both * static_cast<double>(scale));
      const bool is_long = y_inverse < kMostInverse;
      const auto of_y =
          static_cast<float>(is_long ? yt * both * y_inverse * y_inverse * static_cast<double>(scale) : 0);
      row.each(classes, [&](auto i) { row.store(dy, i, row.load(t, i) * of_t + row.load(y, i) * of_y); });
    }
    return -yt * both;
  }

 private:
  static constexpr double kMostInverse = 1e7;
  MIRRORTRAIN_DEVICE static double inverse_length(double squares) {
    return squares * (kMostInverse * kMostInverse) > 1 ? 1 / std::sqrt(squares) : kMostInverse;
  }
};

/// The terms e^(y - largest) of a row, and their sum.
template <class Row, class T>
struct Exponentials {
  using Real = typename Row::Real;
  Row row;
  const T *y, *kept;
  float largest, sum;

  /// `dy`, if not null, may hold the terms until the gradient is stored there.
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

/// For probabilities, which are clipped and then divided by their sum.
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

/// (1 - p^q) / q of the label's probability p.
struct GeneralizedCrossentropy {
  using Target = std::int32_t;
  static constexpr bool kTargetPerClass = false;
  float q;

  template <class Row, class T>
  MIRRORTRAIN_DEVICE double operator()(Row row, const T* y, const std::int32_t* label, T* dy, std::int64_t classes,
                                       float scale) const {
    using Real = typename Row::Real;
    constexpr float kLeast = 1e-7f;  // a smaller probability has the gradient of this one, which is finite
    const bool known = *label >= 0 && *label < classes;
    const float p = known ? static_cast<float>(y[*label]) : 0.0f, raised = p < kLeast ? kLeast : p;
    if (dy != nullptr) {
      const float slope = known ? -scale * scalar::exp((q - 1.0f) * scalar::log(raised)) : 0.0f;
      row.each(classes, [&](auto i) { row.store(dy, i, row.index(i) == *label ? all<Real>(slope) : Real{}); });
    }
    const double power = p <= 0 ? 0 : std::exp(static_cast<double>(q) * std::log(static_cast<double>(p)));
    return known ? (1 - power) / static_cast<double>(q) : NAN;
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

/// For probabilities, which are divided by their sum and then clipped.
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

}  // namespace mirrortrain::scalar
