#include "graph/ops/metric.h"
#include "kernels/cuda/metric_positions.h"
#include "kernels/cuda/own_kernels.h"
#include "kernels/cuda/position_sums.h"
#include "kernels/cuda/stream_kernel.h"

namespace mirrortrain::cuda {
namespace {

template <class Position>
std::unique_ptr<Kernel> make_kernel(const Position& position, const KernelSpecs& specs) {
  const Shape& shape = specs.inputs[0].shape;
  const std::int64_t rows = shape[0], classes = shape.back();
  const std::int64_t count = classes == 0 ? 0 : specs.inputs[0].elements() / classes;
  const PositionSum sum(count, classes, static_cast<double>(count == 0 ? 1 : count / rows));
  const auto body = [=](Stream& stream, const KernelArgs& args) {
    double* total = output<double>(args, 0);
    if (total == nullptr) return;
    const MetricOfPosition<Position, float> metric{position, input<float>(args, 0),
                                                   input<typename Position::Target>(args, 1), classes};
    sum.run(stream, OneSum<MetricOfPosition<Position, float>>{metric}, args, {{total, nullptr}});
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
