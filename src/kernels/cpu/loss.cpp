#include "graph/ops/loss.h"

#include <algorithm>
#include <type_traits>

#include "kernels/cpu/loops.h"
#include "kernels/cpu/registry.h"
#include "kernels/cpu/row.h"
#include "kernels/scalar/losses.h"
#include "kernels/scalar/metrics.h"

namespace mirrortrain::cpu {
namespace {

/// Single-element positions processed as one row of many elements, in whole vectors.
constexpr std::int64_t kLossTerms = 256;

/// The sum of body(row, first position, how many) over all positions. Partial sums go to the workspace first, so that
/// the sum does not depend on the threads. `alone`: positions cannot be combined.
template <class Functor, class Body>
double sum_of_positions(const scalar::PositionShape& shape, bool alone, int threads, std::byte* workspace,
                        const Body& body) {
  auto* const sums = reinterpret_cast<double*>(workspace);
  const bool together = std::is_base_of_v<scalar::ElementwiseMean, Functor> && shape.classes == 1 && !alone;
  const std::int64_t part = together ? kLossTerms : shape.per_row, parts = (shape.count + part - 1) / part;
  parallel_for(threads, parts, rows_per_thread(part * shape.classes), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p) {
      const std::int64_t first = p * part, last = std::min(shape.count, first + part);
      sums[p] = 0;
      for (std::int64_t i = first, step = together ? last - first : 1; i < last; i += step) {
        sums[p] += body(Row{}, i, step);
      }
    }
  });
  double sum = 0;
  for (std::int64_t p = 0; p < parts; ++p) sum += sums[p];
  return sum;
}

std::size_t workspace_for(const scalar::PositionShape& shape) {
  const std::int64_t parts = std::max(shape.count / shape.per_row, shape.count / kLossTerms + 1);
  return static_cast<std::size_t>(parts) * sizeof(double);
}

/// The count returned with the sum of a masked loss or metric.
double sum_of_counted(const scalar::PositionShape& shape, const scalar::PositionMask& mask) {
  std::int64_t counted = 0;
  for (std::int64_t i = 0; i < shape.count; ++i) counted += mask.counts(i) ? 1 : 0;
  return static_cast<double>(counted);
}

std::unique_ptr<Kernel> make_loss(const ops::Loss& op, const KernelSpecs& specs) {
  const scalar::PositionShape shape(specs.inputs[0].shape);
  return scalar::with_loss(op, [&]<class Loss>(const Loss& loss) {
    const auto body = [=, threads = specs.threads](const KernelArgs& args) {
      const scalar::LossOfPosition<Loss, float> of_position{loss,
                                                            input<float>(args, 0),
                                                            input<typename Loss::Target>(args, 1),
                                                            input<float>(args, 2),
                                                            output<float>(args, 1),
                                                            shape,
                                                            args.step,
                                                            {args.inputs, 3, shape},
                                                            input<double>(args, 4)};
      const auto scaled = [&, scale = of_position.scale()](Row row, std::int64_t i, std::int64_t together) {
        return of_position(row, i, together, scale);
      };
      const bool masked = of_position.mask.of != nullptr, alone = masked || of_position.weights != nullptr;
      const double sum = sum_of_positions<Loss>(shape, alone, threads, args.workspace, scaled);
      double* const total = output<double>(args, 0);
      if (total == nullptr) return;
      const auto of_row = static_cast<double>(shape.per_row);
      total[0] = sum / of_row;
      if (masked) total[1] = sum_of_counted(shape, of_position.mask) / of_row;
    };
    return loop_kernel(body, workspace_for(shape));
  });
}

std::unique_ptr<Kernel> make_metric(const ops::Metric& op, const KernelSpecs& specs) {
  const scalar::PositionShape shape(specs.inputs[0].shape);
  return scalar::with_metric(op, [&]<class Metric>(const Metric& metric) {
    const auto body = [=, threads = specs.threads](const KernelArgs& args) {
      double* total = output<double>(args, 0);
      if (total == nullptr) return;
      const scalar::MetricOfPosition<Metric, float> of_position{
          metric, input<float>(args, 0), input<typename Metric::Target>(args, 1), shape, {args.inputs, 2, shape}};
      const bool masked = of_position.mask.of != nullptr;
      total[0] = sum_of_positions<Metric>(shape, masked, threads, args.workspace, of_position);
      if (!masked) total[0] /= static_cast<double>(shape.per_row);
      if (masked) total[1] = sum_of_counted(shape, of_position.mask);
    };
    return loop_kernel(body, workspace_for(shape));
  });
}

}  // namespace

void add_loss_kernels(KernelRegistry& registry) {
  registry.add<ops::Loss>(make_loss);
  registry.add<ops::Metric>(make_metric);
}

}  // namespace mirrortrain::cpu
