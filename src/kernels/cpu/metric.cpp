#include "graph/ops/metric.h"

#include <cmath>

#include "kernels/cpu/loops.h"
#include "kernels/cpu/registry.h"

namespace mirrortrain::cpu {
namespace {

std::int64_t argmax(const float* y, std::int64_t classes) {
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < classes; ++i) best = y[i] > y[best] ? i : best;
  return best;
}

/// The mean of term(y, t) over the last axis.
template <class Term>
double mean_of(const float* y, const float* t, std::int64_t classes, const Term& term) {
  double sum = 0;
  for (std::int64_t i = 0; i < classes; ++i) sum += static_cast<double>(term(y[i], t[i]));
  return sum / static_cast<double>(classes);
}

/// Sums over rows of means over positions; position(y, first target) is the metric of one.
template <class Target, bool kTargetPerClass, class Position>
std::unique_ptr<Kernel> make_kernel(const KernelSpecs& specs, const Position& position) {
  const Shape& shape = specs.inputs[0].shape;
  const std::int64_t rows = shape[0], classes = shape.back(), targets = kTargetPerClass ? classes : 1;
  const std::int64_t positions = rows == 0 || classes == 0 ? 0 : specs.inputs[0].elements() / rows / classes;
  return loop_kernel([=](const KernelArgs& args) {
    const float* y = input<float>(args, 0);
    const Target* t = input<Target>(args, 1);
    double sum = 0;
    for (std::int64_t i = 0; i < rows * positions; ++i) sum += position(y + i * classes, t + i * targets, classes);
    if (double* total = output<double>(args, 0))
      *total = sum / static_cast<double>(std::max<std::int64_t>(1, positions));
  });
}

std::unique_ptr<Kernel> make_metric(const ops::Metric& op, const KernelSpecs& specs) {
  switch (op.kind) {
    case ops::MetricKind::kMeanSquaredError: break;
    case ops::MetricKind::kMeanAbsoluteError:
      return make_kernel<float, true>(specs, [](const float* y, const float* t, std::int64_t classes) {
        return mean_of(y, t, classes, [](float a, float b) { return std::fabs(a - b); });
      });
    case ops::MetricKind::kBinaryAccuracy:
      return make_kernel<float, true>(
          specs, [threshold = op.threshold](const float* y, const float* t, std::int64_t classes) {
            return mean_of(y, t, classes, [=](float a, float b) { return (a > threshold ? 1.0f : 0.0f) == b; });
          });
    case ops::MetricKind::kCategoricalAccuracy:
      return make_kernel<float, true>(specs, [](const float* y, const float* t, std::int64_t classes) {
        return argmax(y, classes) == argmax(t, classes) ? 1.0 : 0.0;
      });
    case ops::MetricKind::kSparseCategoricalAccuracy:
      return make_kernel<std::int32_t, false>(specs,
                                              [](const float* y, const std::int32_t* label, std::int64_t classes) {
                                                return argmax(y, classes) == *label ? 1.0 : 0.0;
                                              });
  }
  return make_kernel<float, true>(specs, [](const float* y, const float* t, std::int64_t classes) {
    return mean_of(y, t, classes, [](float a, float b) { return (a - b) * (a - b); });
  });
}

}  // namespace

void add_metric_kernels(KernelRegistry& registry) { registry.add<ops::Metric>(make_metric); }

}  // namespace mirrortrain::cpu
