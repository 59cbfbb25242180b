#include "graph/ops/loss.h"
#include "kernels/cuda/loss_positions.h"
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
  const std::int64_t positions = count == 0 ? 1 : count / rows;
  const PositionSum sum(count, classes, static_cast<double>(positions));
  const auto body = [=](Stream& stream, const KernelArgs& args) {
    const LossOfPosition<Position, float> loss{position,
                                               input<float>(args, 0),
                                               input<typename Position::Target>(args, 1),
                                               output<float>(args, 1),
                                               classes,
                                               positions,
                                               args.step};
    sum.run(stream, OneSum<LossOfPosition<Position, float>>{loss}, args, {{output<double>(args, 0), nullptr}});
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
