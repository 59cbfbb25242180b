#include "graph/ops/ctc.h"
#include "kernels/cuda/custom_kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/reduce.h"
#include "kernels/cuda/stream_kernel.h"
#include "kernels/scalar/ctc.h"

namespace mirrortrain::cuda {
namespace {

using scalar::CtcShape, scalar::CtcStates;

/// The logarithm of a class's probability at a step.
struct LogProbability {
  const float* logits;
  const double* sums;
  std::int64_t classes;

  __device__ double operator()(std::int64_t step, std::int64_t symbol) const {
    return static_cast<double>(logits[step * classes + symbol]) - sums[step];
  }
};

/// A thread for each example: its states follow from each other step by step.
__global__ void __launch_bounds__(kBlock) ctc(CtcShape shape, const float* all_logits, const std::int32_t* labels,
                                              double* scratch, float* loss, float* gradient) {
  const std::int64_t most = shape.most_states();
  for (std::int64_t row = grid_thread(); row < shape.rows; row += grid_threads()) {
    double *const sums = scratch + row * shape.scratch(), *const forward = sums + shape.steps,
                  *const backward = forward + shape.steps * most;
    const LogProbability log_probability{all_logits + row * shape.steps * shape.classes, sums, shape.classes};
    const CtcStates states(shape, labels + row * shape.length);
    for (std::int64_t t = 0; t < shape.steps; ++t) {
      const float* const logits = log_probability.logits + t * shape.classes;
      auto largest = static_cast<double>(logits[0]);
      for (std::int64_t c = 1; c < shape.classes; ++c) {
        largest = static_cast<double>(logits[c]) > largest ? static_cast<double>(logits[c]) : largest;
      }
      double sum = 0;
      for (std::int64_t c = 0; c < shape.classes; ++c) sum += exp(static_cast<double>(logits[c]) - largest);
      sums[t] = largest + log(sum);
    }
    for (std::int64_t t = 0; t < shape.steps; ++t) {
      double* const now = forward + t * most;
      for (std::int64_t s = 0; s < states.count; ++s) {
        const double before = t > 0 ? states.leading_to(now - most, s) : s < 2 ? 0 : scalar::log_of_nothing();
        now[s] = before + log_probability(t, states.symbol(s));
      }
    }
    const double total = states.total(forward + (shape.steps - 1) * most);
    if (loss != nullptr) loss[row] = static_cast<float>(-total);
    for (std::int64_t t = shape.steps - 1; gradient != nullptr && t >= 0; --t) {
      double *const now = backward + t % 2 * most, *const next = backward + (t + 1) % 2 * most;
      double* const of_step = forward + t * most;
      for (std::int64_t s = 0; s < states.count; ++s) {
        const double after = t + 1 < shape.steps     ? states.following(next, s)
                             : s + 2 >= states.count ? 0
                                                     : scalar::log_of_nothing();
        now[s] = after + log_probability(t, states.symbol(s));
        of_step[s] = total == scalar::log_of_nothing() ? 0 : exp(of_step[s] + after - total);
      }
      for (std::int64_t c = 0; c < shape.classes; ++c) {
        auto value = static_cast<float>(exp(log_probability(t, c)));
        for (std::int64_t s = c == 0 ? 0 : 1; s < states.count; s += 2) {
          if (states.symbol(s) == c) value -= static_cast<float>(of_step[s]);
        }
        gradient[(row * shape.steps + t) * shape.classes + c] = total == scalar::log_of_nothing() ? 0.0f : value;
      }
    }
  }
}

std::unique_ptr<Kernel> make_ctc(const ops::Ctc&, const KernelSpecs& specs) {
  const CtcShape shape(specs.inputs[0].shape, specs.inputs[1].shape);
  return stream_kernel(
      [shape](Stream& stream, const KernelArgs& args) {
        launch(stream, blocks_for(shape.rows), kBlock, 0, ctc, shape, input<float>(args, 0),
               input<std::int32_t>(args, 1), reinterpret_cast<double*>(args.workspace), output<float>(args, 0),
               output<float>(args, 1));
      },
      static_cast<std::size_t>(shape.rows * shape.scratch()) * sizeof(double));
}

}  // namespace

void add_ctc_kernels(KernelRegistry& registry) { registry.add<ops::Ctc>(make_ctc); }

}  // namespace mirrortrain::cuda
