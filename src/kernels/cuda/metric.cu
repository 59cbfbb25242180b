#include "graph/ops/metric.h"
#include "kernels/cuda/own_kernels.h"
#include "kernels/cuda/position_sums.h"
#include "kernels/cuda/stream_kernel.h"

namespace mirrortrain::cuda {
namespace {

/// The first of the largest; NaN is larger than nothing but what comes after it.
template <class Team>
__device__ std::int64_t argmax(Team team, const float* y, std::int64_t classes) {
  float largest = -INFINITY;
  each_element(team, classes, [&](std::int64_t i) { largest = y[i] > largest ? y[i] : largest; });
  largest = team_max(team, largest);
  std::int64_t first = classes;
  each_element(team, classes, [&](std::int64_t i) { first = y[i] == largest && i < first ? i : first; });
  first = team.reduce(first, classes, [](std::int64_t a, std::int64_t b) { return a < b ? a : b; });
  return y[0] == y[0] ? first : 0;
}

// Each of these is the metric of one position: operator()(team, y, targets, classes).

/// The mean of a term per element.
template <class Term>
struct MeanOf {
  using Target = float;
  static constexpr bool kTargetPerClass = true;
  Term term;

  template <class Team>
  __device__ double operator()(Team team, const float* y, const float* t, std::int64_t classes) const {
    double sum = 0;
    each_element(team, classes, [&](std::int64_t i) { sum += static_cast<double>(term(y[i], t[i])); });
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
  template <class Team>
  __device__ double operator()(Team team, const float* y, const float* t, std::int64_t classes) const {
    return argmax(team, y, classes) == argmax(team, t, classes) ? 1.0 : 0.0;
  }
};
struct IsLabel {
  using Target = std::int32_t;
  static constexpr bool kTargetPerClass = false;
  template <class Team>
  __device__ double operator()(Team team, const float* y, const std::int32_t* label, std::int64_t classes) const {
    return argmax(team, y, classes) == *label ? 1.0 : 0.0;
  }
};

/// The metric of the i-th position of a tensor.
template <class Position>
struct MetricOfPosition {
  Position position;
  const float* y;
  const typename Position::Target* t;
  std::int64_t classes;

  template <class Team>
  __device__ double operator()(Team team, std::int64_t i) const {
    return position(team, y + i * classes, t + i * (Position::kTargetPerClass ? classes : 1), classes);
  }
};

template <class Position>
std::unique_ptr<Kernel> make_kernel(const Position& position, const KernelSpecs& specs) {
  const Shape& shape = specs.inputs[0].shape;
  const std::int64_t rows = shape[0], classes = shape.back();
  const std::int64_t count = classes == 0 ? 0 : specs.inputs[0].elements() / classes;
  const PositionSum sum(count, classes, static_cast<double>(count == 0 ? 1 : count / rows));
  const auto body = [=](Stream& stream, const KernelArgs& args) {
    double* total = output<double>(args, 0);
    if (total == nullptr) return;
    const MetricOfPosition<Position> of_position{position, input<float>(args, 0),
                                                 input<typename Position::Target>(args, 1), classes};
    sum.run(stream, of_position, args.workspace, total);
  };
  return stream_kernel(body, sum.bytes());
}

std::unique_ptr<Kernel> make_metric(const ops::Metric& op, const KernelSpecs& specs) {
  switch (op.kind) {
    case ops::MetricKind::kMeanSquaredError: break;
    case ops::MetricKind::kMeanAbsoluteError: return make_kernel(MeanOf<Distance>{}, specs);
    case ops::MetricKind::kBinaryAccuracy: return make_kernel(MeanOf<SameSide>{{op.threshold}}, specs);
    case ops::MetricKind::kCategoricalAccuracy: return make_kernel(SameClass{}, specs);
    case ops::MetricKind::kSparseCategoricalAccuracy: return make_kernel(IsLabel{}, specs);
  }
  return make_kernel(MeanOf<SquaredDistance>{}, specs);
}

}  // namespace

void add_metric_kernels(KernelRegistry& registry) { registry.add<ops::Metric>(make_metric); }

}  // namespace mirrortrain::cuda
