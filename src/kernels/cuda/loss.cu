#include "graph/ops/loss.h"
#include "kernels/cuda/own_kernels.h"
#include "kernels/cuda/position_sums.h"
#include "kernels/cuda/stream_kernel.h"
#include "kernels/scalar/losses.h"

namespace mirrortrain::cuda {
namespace {

// Each of these is the loss of one position: operator()(team, y, targets, dy, classes, scale) returns it and, unless dy
// is null, stores its gradient times scale. A thread reads back from dy only what it wrote there.

/// The mean of a term per element.
template <class Term>
struct MeanOfTerms {
  using Target = float;
  static constexpr bool kTargetPerClass = true;
  Term term;

  template <class Team>
  __device__ double operator()(Team team, const float* y, const float* t, float* dy, std::int64_t classes,
                               float scale) const {
    const float share = scale / static_cast<float>(classes);
    double sum = 0;
    each_element(team, classes, [&](std::int64_t i) {
      const scalar::LossTerm one = term(y[i], t[i]);
      sum += static_cast<double>(one.value);
      if (dy != nullptr) dy[i] = share * one.slope;
    });
    return team_sum(team, sum) / static_cast<double>(classes);
  }
};

struct Exponentials {
  float largest, sum;
};

/// The sum of e^(y - largest); the terms go to `to` unless it is null.
template <class Team>
__device__ Exponentials exponentials(Team team, const float* y, float* to, std::int64_t classes) {
  float largest = -INFINITY, sum = 0;
  each_element(team, classes, [&](std::int64_t i) { largest = y[i] > largest ? y[i] : largest; });
  largest = team_max(team, largest);
  each_element(team, classes, [&](std::int64_t i) {
    const float term = scalar::exp(y[i] - largest);
    if (to != nullptr) to[i] = term;
    sum += term;
  });
  return {largest, team_sum(team, sum)};
}

struct SparseOfLogits {
  using Target = std::int32_t;
  static constexpr bool kTargetPerClass = false;

  template <class Team>
  __device__ double operator()(Team team, const float* y, const std::int32_t* label, float* dy, std::int64_t classes,
                               float scale) const {
    const auto [largest, sum] = exponentials(team, y, dy, classes);
    if (dy != nullptr) {
      const float share = scale / sum;
      each_element(team, classes, [&](std::int64_t i) {
        const float value = dy[i] * share;
        dy[i] = i == *label ? value - scale : value;
      });
    }
    if (*label < 0 || *label >= classes) return NAN;
    return static_cast<double>(scalar::log(sum)) + (static_cast<double>(largest) - static_cast<double>(y[*label]));
  }
};

/// Of probabilities, which are clipped and then divided by their sum.
struct Sparse {
  using Target = std::int32_t;
  static constexpr bool kTargetPerClass = false;

  template <class Team>
  __device__ double operator()(Team team, const float* y, const std::int32_t* label, float* dy, std::int64_t classes,
                               float scale) const {
    const bool known = *label >= 0 && *label < classes;
    float sum = 0;
    each_element(team, classes, [&](std::int64_t i) { sum += scalar::clipped(y[i]).value; });
    sum = team_sum(team, sum);
    const scalar::Clipped right = scalar::clipped(known ? y[*label] : 0.0f);
    if (dy != nullptr) {
      const float share = scale / sum;
      each_element(team, classes, [&](std::int64_t i) {
        const float value = known && scalar::clipped(y[i]).inside ? share : 0.0f;
        dy[i] = known && i == *label && right.inside ? value - scale / right.value : value;
      });
    }
    return known ? -static_cast<double>(scalar::log(right.value / sum)) : NAN;
  }
};

struct CategoricalOfLogits {
  using Target = float;
  static constexpr bool kTargetPerClass = true;
  float smoothing;

  template <class Team>
  __device__ double operator()(Team team, const float* y, const float* t, float* dy, std::int64_t classes,
                               float scale) const {
    const auto [largest, sum] = exponentials(team, y, dy, classes);
    const float log_sum = scalar::log(sum), count = static_cast<float>(classes);
    double loss = 0, weight = 0;
    each_element(team, classes, [&, top = largest](std::int64_t i) {
      const float target = scalar::smoothed_class(t[i], smoothing, count);
      loss += static_cast<double>(target * (log_sum + (top - y[i])));
      weight += static_cast<double>(target);
    });
    weight = team_sum(team, weight);
    if (dy != nullptr) {
      const float share = static_cast<float>(weight) / sum;
      each_element(team, classes, [&](std::int64_t i) {
        dy[i] = scale * (dy[i] * share - scalar::smoothed_class(t[i], smoothing, count));
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

  template <class Team>
  __device__ double operator()(Team team, const float* y, const float* t, float* dy, std::int64_t classes,
                               float scale) const {
    float sum = 0, dot = 0;
    each_element(team, classes, [&](std::int64_t i) { sum += y[i]; });
    const float inverse = 1.0f / team_sum(team, sum), count = static_cast<float>(classes);
    double loss = 0;
    each_element(team, classes, [&](std::int64_t i) {
      const scalar::Clipped p = scalar::clipped(y[i] * inverse);
      const float target = scalar::smoothed_class(t[i], smoothing, count);
      loss -= static_cast<double>(target * scalar::log(p.value));
      dot += p.inside ? -target : 0.0f;
    });
    if (dy != nullptr) {
      // With p = y / sum: dy = (dp - sum(dp p)) / sum.
      dot = team_sum(team, dot);
      each_element(team, classes, [&](std::int64_t i) {
        const scalar::Clipped p = scalar::clipped(y[i] * inverse);
        const float dp = p.inside ? -scalar::smoothed_class(t[i], smoothing, count) / p.value : 0.0f;
        dy[i] = scale * inverse * (dp - dot);
      });
    }
    return team_sum(team, loss);
  }
};

/// The loss of the i-th position of a tensor.
template <class Position>
struct LossOfPosition {
  Position position;
  const float* y;
  const typename Position::Target* t;
  float* dy;
  std::int64_t classes, targets, positions;
  const StepScalars* step;

  template <class Team>
  __device__ double operator()(Team team, std::int64_t i) const {
    const float scale = static_cast<float>(1.0 / static_cast<double>(step->global_examples * positions));
    return position(team, y + i * classes, t + i * targets, dy == nullptr ? nullptr : dy + i * classes, classes, scale);
  }
};

template <class Position>
std::unique_ptr<Kernel> make_kernel(const Position& position, const KernelSpecs& specs) {
  const Shape& shape = specs.inputs[0].shape;
  const std::int64_t rows = shape[0], classes = shape.back();
  const std::int64_t count = classes == 0 ? 0 : specs.inputs[0].elements() / classes;
  const std::int64_t positions = count == 0 ? 1 : count / rows;
  const PositionSum sum(count, classes, static_cast<double>(positions));
  const auto body = [=](Stream& stream, const KernelArgs& args) {
    const LossOfPosition<Position> of_position{position,
                                               input<float>(args, 0),
                                               input<typename Position::Target>(args, 1),
                                               output<float>(args, 1),
                                               classes,
                                               Position::kTargetPerClass ? classes : 1,
                                               positions,
                                               args.step};
    sum.run(stream, of_position, args.workspace, output<double>(args, 0));
  };
  return stream_kernel(body, sum.bytes());
}

std::unique_ptr<Kernel> make_loss(const ops::Loss& op, const KernelSpecs& specs) {
  switch (op.kind) {
    case ops::LossKind::kMeanSquaredError: break;
    case ops::LossKind::kBinaryCrossentropy:
      if (op.from_logits) {
        return make_kernel(MeanOfTerms<scalar::BinaryCrossentropyOfLogits>{{op.label_smoothing}}, specs);
      }
      return make_kernel(MeanOfTerms<scalar::BinaryCrossentropy>{{op.label_smoothing}}, specs);
    case ops::LossKind::kCategoricalCrossentropy:
      if (op.from_logits) return make_kernel(CategoricalOfLogits{op.label_smoothing}, specs);
      return make_kernel(Categorical{op.label_smoothing}, specs);
    case ops::LossKind::kSparseCategoricalCrossentropy:
      if (op.from_logits) return make_kernel(SparseOfLogits{}, specs);
      return make_kernel(Sparse{}, specs);
  }
  return make_kernel(MeanOfTerms<scalar::SquaredError>{}, specs);
}

}  // namespace

void add_loss_kernels(KernelRegistry& registry) { registry.add<ops::Loss>(make_loss); }

}  // namespace mirrortrain::cuda
