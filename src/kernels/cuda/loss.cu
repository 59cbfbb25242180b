#include "kernels/cuda/custom_kernels.h"
#include "kernels/cuda/matrix_passes.h"
#include "kernels/cuda/merge.h"
#include "kernels/cuda/merge_logits.h"
#include "kernels/cuda/position_sums.h"
#include "kernels/cuda/stream_kernel.h"
#include "kernels/cuda/wide_logits.h"
#include "kernels/scalar/losses.h"
#include "kernels/scalar/metrics.h"

namespace mirrortrain::cuda {
namespace {

template <class T, class Loss>
scalar::LossOfPosition<Loss, T> bind_loss(const Loss& loss, const scalar::PositionShape& shape,
                                          const KernelArgs& args) {
  return {loss,
          input<T>(args, 0),
          input<typename Loss::Target>(args, 1),
          input<float>(args, 2),
          output<T>(args, 1),
          shape,
          args.step,
          {args.inputs, 3, shape},
          input<double>(args, 4)};
}

template <class T, class Metric>
scalar::MetricOfPosition<Metric, T> bind_metric(const Metric& metric, const scalar::PositionShape& shape,
                                                const KernelArgs& args) {
  return {metric, input<T>(args, 0), input<typename Metric::Target>(args, 1), shape, {args.inputs, 2, shape}};
}

/// The sum of a body over all positions; with a mask, also the number of those that count.
template <class Body>
void run_sum(Stream& stream, const PositionSum& sum, const Body& body, const KernelArgs& args, double* totals) {
  if (body.mask.of == nullptr) return sum.run(stream, OneSum<Body>{body}, args, {{totals, nullptr}});
  sum.run(stream, TwoSums<Body, scalar::CountOfPosition>{body, {body.mask}}, args,
          {{totals, totals == nullptr ? nullptr : totals + 1}});
}

template <class T, class Loss>
std::unique_ptr<Kernel> make_loss_of(const Loss& loss, const KernelSpecs& specs, std::int64_t classes = 0) {
  const scalar::PositionShape shape(specs.inputs[0].shape, classes);
  const PositionSum sum(shape);
  const auto body = [=](Stream& stream, const KernelArgs& args) {
    const auto of_position = bind_loss<T>(loss, shape, args);
    run_sum(stream, sum, of_position, args, output<double>(args, 0));
  };
  return stream_kernel(body, sum.bytes(2));
}

std::unique_ptr<Kernel> make_loss(const ops::Loss& op, const KernelSpecs& specs) {
  const auto make = [&]<class Loss>(const Loss& loss) { return make_loss_of<float>(loss, specs); };
  if (op.kind == ops::LossKind::kSparseCategoricalCrossentropy && op.from_logits) return make(WideSparseOfLogits{});
  return scalar::with_loss(op, make);
}

std::unique_ptr<Kernel> make_loss_of_logits(const LossOfLogits& op, const KernelSpecs& specs) {
  return for_float_type(op, specs.inputs[0].dtype,
                        [&]<class T>(T) { return make_loss_of<T>(WideSparseOfLogits{}, specs, op.classes); });
}

std::unique_ptr<Kernel> make_compact_rows(const CompactRows& op, const KernelSpecs& specs) {
  const TensorView &from = specs.inputs[0], &to = specs.outputs[0];
  const std::int64_t stride = from.shape.back(), rows = stride == 0 ? 0 : from.elements() / stride;
  return stream_kernel(
      [=, columns = op.columns, from_dtype = from.dtype, to_dtype = to.dtype](Stream& stream, const KernelArgs& args) {
        compact_rows(stream, rows, columns, stride, from_dtype, args.inputs[0].data, to_dtype, args.outputs[0].data);
      });
}

std::unique_ptr<Kernel> make_metric(const ops::Metric& op, const KernelSpecs& specs) {
  const scalar::PositionShape shape(specs.inputs[0].shape);
  const PositionSum sum(shape);
  return scalar::with_metric(op, [&]<class Metric>(const Metric& metric) {
    const auto body = [=](Stream& stream, const KernelArgs& args) {
      double* total = output<double>(args, 0);
      if (total == nullptr) return;
      const auto of_position = bind_metric<float>(metric, shape, args);
      run_sum(stream, of_position.mask.of == nullptr ? sum : sum.undivided(), of_position, args, total);
    };
    return stream_kernel(body, sum.bytes(2));
  });
}

template <class T, class Loss, class Metric>
std::unique_ptr<Kernel> make_both(const Loss& loss, const Metric& metric, const KernelSpecs& specs,
                                  std::int64_t classes = 0) {
  const scalar::PositionShape shape(specs.inputs[0].shape, classes);
  const PositionSum sum(shape);
  const auto body = [=](Stream& stream, const KernelArgs& args) {
    auto of_loss = bind_loss<T>(loss, shape, args);
    auto of_metric = bind_metric<T>(metric, shape, args);
    const Totals totals{{output<double>(args, 0), output<double>(args, 2)}};
    if constexpr (std::is_same_v<Loss, WideSparseOfLogits>) {
      sum.run(stream, WideLossAndAccuracy<T>{of_loss, of_metric}, args, totals);
    } else {
      sum.run(stream, TwoSums<decltype(of_loss), decltype(of_metric)>{of_loss, of_metric}, args, totals);
    }
  };
  return stream_kernel(body, sum.bytes(2));
}

std::unique_ptr<Kernel> make_loss_with_metric(const LossWithMetric& op, const KernelSpecs& specs) {
  const bool sparse = op.loss.kind == ops::LossKind::kSparseCategoricalCrossentropy;
  if (!op.loss.from_logits) {
    if (specs.inputs[0].dtype != DType::kFloat32) refuse_dtype(op, specs.inputs[0].dtype);
    if (sparse) return make_both<float>(scalar::Sparse{}, scalar::IsLabel{}, specs);
    return make_both<float>(scalar::Categorical{op.loss.label_smoothing}, scalar::SameClass{}, specs);
  }
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    if (sparse) return make_both<T>(WideSparseOfLogits{}, scalar::IsLabel{}, specs, op.classes);
    return make_both<T>(scalar::CategoricalOfLogits{op.loss.label_smoothing}, scalar::SameClass{}, specs);
  });
}

}  // namespace

void add_loss_kernels(KernelRegistry& registry) {
  registry.add<ops::Loss>(make_loss);
  registry.add<ops::Metric>(make_metric);
  registry.add<LossWithMetric>(make_loss_with_metric);
  registry.add<LossOfLogits>(make_loss_of_logits);
  registry.add<CompactRows>(make_compact_rows);
}

}  // namespace mirrortrain::cuda
