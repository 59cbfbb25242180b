#pragma once

#include "graph/ops/metric.h"
#include "kernels/scalar/math.h"
#include "kernels/scalar/row.h"

// Metrics as Keras has them, for all devices: a new one is a struct here and a line in with_metric. Each is the metric
// of one position: operator()(row, y, targets, classes). y is float or bfloat16.
namespace mirrortrain::scalar {

/// The index of the first largest element; 0 if element 0 is NaN, other NaN are ignored.
template <class Row, class T>
MIRRORTRAIN_DEVICE inline std::int32_t argmax(Row row, const T* y, std::int64_t classes) {
  using Real = typename Row::Real;
  const float largest = row.largest(classes, [&](auto i) { return row.load(y, i); });
  const auto none = Integers<Real>{} + static_cast<std::int32_t>(classes);
  const std::int32_t first =
      row.smallest(classes, [&](auto i) -> Integers<Real> { return row.load(y, i) == largest ? row.index(i) : none; });
  const auto front = static_cast<float>(y[0]);
  return front == front ? first : 0;
}

/// The mean of a term per element.
template <class Term>
struct MeanOf : ElementwiseMean {
  using Target = float;
  static constexpr bool kTargetPerClass = true;
  Term term;
  explicit MeanOf(const Term& one = {}) : term(one) {}

  template <class Row, class T>
  MIRRORTRAIN_DEVICE double operator()(Row row, const T* y, const float* t, std::int64_t classes) const {
    return row.exact_sum(classes, [&](auto i) { return term(row.load(y, i), row.load(t, i)); }) /
           static_cast<double>(classes);
  }
};

struct SquaredDistance {
  template <class Real>
  MIRRORTRAIN_HOST_DEVICE Real operator()(Real y, Real t) const {
    return (y - t) * (y - t);
  }
};

struct Distance {
  template <class Real>
  MIRRORTRAIN_HOST_DEVICE Real operator()(Real y, Real t) const {
    return magnitude<Real>(y - t);
  }
};

struct Itself {
  template <class Real>
  MIRRORTRAIN_HOST_DEVICE Real operator()(Real y, Real) const {
    return y;
  }
};

struct SameSide {
  float threshold;
  template <class Real>
  MIRRORTRAIN_HOST_DEVICE Real operator()(Real y, Real t) const {
    const Real side = y > threshold ? all<Real>(1.0f) : Real{};
    return side == t ? all<Real>(1.0f) : Real{};
  }
};

struct SameSign {
  template <class Real>
  MIRRORTRAIN_HOST_DEVICE Real operator()(Real y, Real t) const {
    const Real side = y > 0.0f ? all<Real>(1.0f) : Real{}, target = t > 0.0f ? all<Real>(1.0f) : Real{};
    return side == target ? all<Real>(1.0f) : Real{};
  }
};

struct SameClass {
  using Target = float;
  static constexpr bool kTargetPerClass = true;
  template <class Row, class T>
  MIRRORTRAIN_DEVICE double operator()(Row row, const T* y, const float* t, std::int64_t classes) const {
    return argmax(row, y, classes) == argmax(row, t, classes) ? 1.0 : 0.0;
  }
};

struct IsLabel {
  using Target = std::int32_t;
  static constexpr bool kTargetPerClass = false;
  template <class Row, class T>
  MIRRORTRAIN_DEVICE double operator()(Row row, const T* y, const std::int32_t* label, std::int64_t classes) const {
    return argmax(row, y, classes) == *label ? 1.0 : 0.0;
  }
};

/// Whether fewer than k outputs are larger than that of class `right`; false if that is NaN.
template <class Row, class T>
MIRRORTRAIN_DEVICE inline double is_in_top(Row row, const T* y, std::int64_t right, std::int64_t classes, double k) {
  using Real = typename Row::Real;
  const auto own = static_cast<float>(y[right]);
  const double larger = row.exact_sum(classes, [&](auto i) { return row.load(y, i) > own ? all<Real>(1.0f) : Real{}; });
  return own == own && larger < k ? 1.0 : 0.0;
}

struct ClassInTop {
  using Target = float;
  static constexpr bool kTargetPerClass = true;
  double k;
  template <class Row, class T>
  MIRRORTRAIN_DEVICE double operator()(Row row, const T* y, const float* t, std::int64_t classes) const {
    return is_in_top(row, y, argmax(row, t, classes), classes, k);
  }
};

struct LabelInTop {
  using Target = std::int32_t;
  static constexpr bool kTargetPerClass = false;
  double k;
  template <class Row, class T>
  MIRRORTRAIN_DEVICE double operator()(Row row, const T* y, const std::int32_t* label, std::int64_t classes) const {
    return *label < 0 || *label >= classes ? 0.0 : is_in_top(row, y, *label, classes, k);
  }
};

/// Calls function(functor) with the struct of a metric, on the host.
template <class Function>
auto with_metric(const ops::Metric& op, const Function& function) {
  switch (op.kind) {
    case ops::MetricKind::kMeanSquaredError: break;
    case ops::MetricKind::kOutput: return function(MeanOf<Itself>{});
    case ops::MetricKind::kMeanAbsoluteError: return function(MeanOf<Distance>{});
    case ops::MetricKind::kBinaryAccuracy: return function(MeanOf<SameSide>({op.threshold}));
    case ops::MetricKind::kSignAccuracy: return function(MeanOf<SameSign>{});
    case ops::MetricKind::kCategoricalAccuracy: return function(SameClass{});
    case ops::MetricKind::kSparseCategoricalAccuracy: return function(IsLabel{});
    case ops::MetricKind::kTopKCategoricalAccuracy: return function(ClassInTop{static_cast<double>(op.k)});
    case ops::MetricKind::kSparseTopKCategoricalAccuracy: return function(LabelInTop{static_cast<double>(op.k)});
  }
  return function(MeanOf<SquaredDistance>{});
}

/// The metric of the i-th position of a tensor, or of `together` from there on.
template <class Metric, class T>
struct MetricOfPosition {
  Metric metric;
  const T* y;
  const typename Metric::Target* t;
  PositionShape shape;
  PositionMask mask;

  template <class Row>
  MIRRORTRAIN_DEVICE double operator()(Row row, std::int64_t i, std::int64_t together = 1) const {
    if (!mask.counts(i)) return 0;
    return static_cast<double>(together) * metric(row, y + i * shape.stride,
                                                  t + i * (Metric::kTargetPerClass ? shape.classes : 1),
                                                  together * shape.classes);
  }
};

}  // namespace mirrortrain::scalar
