#include "kernels/cuda/merged_ops.h"
#include "kernels/cuda/metric_positions.h"
#include "kernels/cuda/own_kernels.h"
#include "kernels/cuda/position_sums.h"
#include "kernels/cuda/stream_kernel.h"

namespace mirrortrain::cuda {
namespace {

template <class T, class LossOf, class MetricOf>
std::unique_ptr<Kernel> make_kernel(const LossOf& of_loss, const MetricOf& of_metric, const KernelSpecs& specs) {
  using Target = typename LossOf::Target;
  using Loss = LossOfPosition<LossOf, T>;
  using Metric = MetricOfPosition<MetricOf, T>;
  const Shape& shape = specs.inputs[0].shape;
  const std::int64_t rows = shape[0], classes = shape.back();
  const std::int64_t count = classes == 0 ? 0 : specs.inputs[0].elements() / classes;
  const std::int64_t positions = count == 0 ? 1 : count / rows;
  const PositionSum sum(count, classes, static_cast<double>(positions));
  const auto body = [=](Stream& stream, const KernelArgs& args) {
    const T* y = input<T>(args, 0);
    const Target* targets = input<Target>(args, 1);
    const Loss loss{of_loss, y, targets, output<T>(args, 1), classes, positions, args.step};
    const Metric metric{of_metric, y, targets, classes};
    sum.run(stream, TwoSums<Loss, Metric>{loss, metric}, args, {{output<double>(args, 0), output<double>(args, 2)}});
  };
  return stream_kernel(body, sum.bytes(2));
}

std::unique_ptr<Kernel> make_loss_with_metric(const LossWithMetric& op, const KernelSpecs& specs) {
  const bool sparse = op.loss.kind == ops::LossKind::kSparseCategoricalCrossentropy;
  if (!op.loss.from_logits) {
    if (specs.inputs[0].dtype != DType::kFloat32) refuse_dtype(op, specs.inputs[0].dtype);
    if (sparse) return make_kernel<float>(Sparse{}, IsLabel{}, specs);
    return make_kernel<float>(Categorical{op.loss.label_smoothing}, SameClass{}, specs);
  }
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    if (sparse) return make_kernel<T>(SparseOfLogits{}, IsLabel{}, specs);
    return make_kernel<T>(CategoricalOfLogits{op.loss.label_smoothing}, SameClass{}, specs);
  });
}

}  // namespace

void add_loss_with_metric_kernels(KernelRegistry& registry) { registry.add<LossWithMetric>(make_loss_with_metric); }

}  // namespace mirrortrain::cuda
