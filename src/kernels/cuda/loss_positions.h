#pragma once

#include "kernels/cuda/team.h"
#include "kernels/kernel.h"
#include "kernels/scalar/losses.h"

// Each of these is the loss of one position: operator()(team, y, targets, dy, classes, scale) returns it and, unless dy
// is null, stores its gradient times scale. y and dy are float or bfloat16.
namespace mirrortrain::cuda {

template <class T>
__device__ inline float number(T value) {
  return static_cast<float>(value);
}

/// The mean of a term per element.
template <class Term>
struct MeanOfTerms {
  using Target = float;
  static constexpr bool kTargetPerClass = true;
  Term term;

  template <class Team, class T>
  __device__ double operator()(Team team, const T* y, const float* t, T* dy, std::int64_t classes, float scale) const {
    const float share = scale / static_cast<float>(classes);
    double sum = 0;
    each_element(team, classes, [&](std::int64_t i) {
      const scalar::LossTerm one = term(number(y[i]), t[i]);
      sum += static_cast<double>(one.value);
      if (dy != nullptr) dy[i] = T(share * one.slope);
    });
    return team_sum(team, sum) / static_cast<double>(classes);
  }
};

struct Exponentials {
  float largest, sum;
};

/// The sum of e^(y - largest).
template <class Team, class T>
__device__ inline Exponentials exponentials(Team team, const T* y, std::int64_t classes) {
  float largest = -INFINITY, sum = 0;
  each_element(team, classes, [&](std::int64_t i) {
    const float value = number(y[i]);
    largest = value > largest ? value : largest;
  });
  largest = team_max(team, largest);
  each_element(team, classes, [&](std::int64_t i) { sum += scalar::exp(number(y[i]) - largest); });
  return {largest, team_sum(team, sum)};
}

struct SparseOfLogits {
  using Target = std::int32_t;
  static constexpr bool kTargetPerClass = false;

  template <class Team, class T>
  __device__ double operator()(Team team, const T* y, const std::int32_t* label, T* dy, std::int64_t classes,
                               float scale) const {
    const auto [largest, sum] = exponentials(team, y, classes);
    if (dy != nullptr) {
      const float share = scale / sum;
      each_element(team, classes, [&, top = largest](std::int64_t i) {
        const float value = scalar::exp(number(y[i]) - top) * share;
        dy[i] = T(i == *label ? value - scale : value);
      });
    }
    if (*label < 0 || *label >= classes) return NAN;
    return static_cast<double>(scalar::log(sum)) +
           (static_cast<double>(largest) - static_cast<double>(number(y[*label])));
  }
};

/// Of probabilities, which are clipped and then divided by their sum.
struct Sparse {
  using Target = std::int32_t;
  static constexpr bool kTargetPerClass = false;

  template <class Team, class T>
  __device__ double operator()(Team team, const T* y, const std::int32_t* label, T* dy, std::int64_t classes,
                               float scale) const {
    const bool known = *label >= 0 && *label < classes;
    float sum = 0;
    each_element(team, classes, [&](std::int64_t i) { sum += scalar::clipped(number(y[i])).value; });
    sum = team_sum(team, sum);
    const scalar::Clipped right = scalar::clipped(known ? number(y[*label]) : 0.0f);
    if (dy != nullptr) {
      const float share = scale / sum;
      each_element(team, classes, [&](std::int64_t i) {
        const float value = known && scalar::clipped(number(y[i])).inside ? share : 0.0f;
        dy[i] = T(known && i == *label && right.inside ? value - scale / right.value : value);
      });
    }
    return known ? -static_cast<double>(scalar::log(right.value / sum)) : NAN;
  }
};

struct CategoricalOfLogits {
  using Target = float;
  static constexpr bool kTargetPerClass = true;
  float smoothing;

  template <class Team, class T>
  __device__ double operator()(Team team, const T* y, const float* t, T* dy, std::int64_t classes, float scale) const {
    const auto [largest, sum] = exponentials(team, y, classes);
    const float log_sum = scalar::log(sum), count = static_cast<float>(classes);
    double loss = 0, weight = 0;
    each_element(team, classes, [&, top = largest](std::int64_t i) {
      const float target = scalar::smoothed_class(t[i], smoothing, count);
      loss += static_cast<double>(target * (log_sum + (top - number(y[i]))));
      weight += static_cast<double>(target);
    });
    weight = team_sum(team, weight);
    if (dy != nullptr) {
      const float share = static_cast<float>(weight) / sum;
      each_element(team, classes, [&, top = largest](std::int64_t i) {
        const float term = scalar::exp(number(y[i]) - top);
        dy[i] = T(scale * (term * share - scalar::smoothed_class(t[i], smoothing, count)));
      });
    }
    return team_sum(team, loss);
  }
};

/// Of probabilities, which are divided by their sum and then clipped.
struct Categorical {
  using Target = float;
  static constexpr bool kTargetPerClass = true;
  float smoothing;

  template <class Team, class T>
  __device__ double operator()(Team team, const T* y, const float* t, T* dy, std::int64_t classes, float scale) const {
    float sum = 0, dot = 0;
    each_element(team, classes, [&](std::int64_t i) { sum += number(y[i]); });
    const float inverse = 1.0f / team_sum(team, sum), count = static_cast<float>(classes);
    double loss = 0;
    each_element(team, classes, [&](std::int64_t i) {
      const scalar::Clipped p = scalar::clipped(number(y[i]) * inverse);
      const float target = scalar::smoothed_class(t[i], smoothing, count);
      loss -= static_cast<double>(target * scalar::log(p.value));
      dot += p.inside ? -target : 0.0f;
    });
    if (dy != nullptr) {
      // With p = y / sum: dy = (dp - sum(dp p)) / sum.
      dot = team_sum(team, dot);
      each_element(team, classes, [&](std::int64_t i) {
        const scalar::Clipped p = scalar::clipped(number(y[i]) * inverse);
        const float dp = p.inside ? -scalar::smoothed_class(t[i], smoothing, count) / p.value : 0.0f;
        dy[i] = T(scale * inverse * (dp - dot));
      });
    }
    return team_sum(team, loss);
  }
};

/// The loss of the i-th position of a tensor.
template <class Position, class T>
struct LossOfPosition {
  Position position;
  const T* y;
  const typename Position::Target* t;
  T* dy;
  std::int64_t classes, positions;  ///< of a position; of a row
  const StepParams* step;

  template <class Team>
  __device__ double operator()(Team team, std::int64_t i) const {
    const float scale = static_cast<float>(1.0 / static_cast<double>(step->global_examples * positions));
    return position(team, y + i * classes, t + i * (Position::kTargetPerClass ? classes : 1),
                    dy == nullptr ? nullptr : dy + i * classes, classes, scale);
  }
};

}  // namespace mirrortrain::cuda
