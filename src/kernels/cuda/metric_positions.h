#pragma once

#include "kernels/cuda/loss_positions.h"

// Each of these is the metric of one position: operator()(team, y, targets, classes). y is float or bfloat16.
namespace mirrortrain::cuda {

/// The first of the largest; NaN is larger than nothing but what comes after it.
template <class Team, class T>
__device__ inline std::int64_t argmax(Team team, const T* y, std::int64_t classes) {
  float largest = -INFINITY;
  each_element(team, classes, [&](std::int64_t i) { largest = number(y[i]) > largest ? number(y[i]) : largest; });
  largest = team_max(team, largest);
  std::int64_t first = classes;
  each_element(team, classes, [&](std::int64_t i) { first = number(y[i]) == largest && i < first ? i : first; });
  first = team.reduce(first, classes, [](std::int64_t a, std::int64_t b) { return a < b ? a : b; });
  return number(y[0]) == number(y[0]) ? first : 0;
}

/// The mean of a term per element.
template <class Term>
struct MeanOf {
  using Target = float;
  static constexpr bool kTargetPerClass = true;
  Term term;

  template <class Team, class T>
  __device__ double operator()(Team team, const T* y, const float* t, std::int64_t classes) const {
    double sum = 0;
    each_element(team, classes, [&](std::int64_t i) { sum += static_cast<double>(term(number(y[i]), t[i])); });
    return team_sum(team, sum) / static_cast<double>(classes);
  }
};
struct SquaredDistance {
  __device__ float operator()(float y, float t) const { return (y - t) * (y - t); }
};
struct Distance {
  __device__ float operator()(float y, float t) const { return fabsf(y - t); }
};
struct SameSide {
  float threshold;
  __device__ float operator()(float y, float t) const { return (y > threshold ? 1.0f : 0.0f) == t ? 1.0f : 0.0f; }
};

struct SameClass {
  using Target = float;
  static constexpr bool kTargetPerClass = true;
  template <class Team, class T>
  __device__ double operator()(Team team, const T* y, const float* t, std::int64_t classes) const {
    return argmax(team, y, classes) == argmax(team, t, classes) ? 1.0 : 0.0;
  }
};
struct IsLabel {
  using Target = std::int32_t;
  static constexpr bool kTargetPerClass = false;
  template <class Team, class T>
  __device__ double operator()(Team team, const T* y, const std::int32_t* label, std::int64_t classes) const {
    return argmax(team, y, classes) == *label ? 1.0 : 0.0;
  }
};

/// The metric of the i-th position of a tensor.
template <class Position, class T>
struct MetricOfPosition {
  Position position;
  const T* y;
  const typename Position::Target* t;
  std::int64_t classes;

  template <class Team>
  __device__ double operator()(Team team, std::int64_t i) const {
    return position(team, y + i * classes, t + i * (Position::kTargetPerClass ? classes : 1), classes);
  }
};

}  // namespace mirrortrain::cuda
