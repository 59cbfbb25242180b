#include "graph/ops/ctc.h"

#include <algorithm>

#include "kernels/cpu/loops.h"
#include "kernels/cpu/registry.h"
#include "kernels/scalar/ctc.h"

namespace mirrortrain::cpu {
namespace {

using scalar::CtcShape, scalar::CtcStates;

/// One example's loss and gradient.
class CtcExample {
 public:
  CtcExample(const CtcShape& shape, const float* logits, const std::int32_t* labels, double* scratch)
      : shape_(shape),
        logits_(logits),
        states_(shape, labels),
        sums_(scratch),
        forward_(scratch + shape.steps),
        backward_(forward_ + shape.steps * shape.most_states()) {}

  /// Returns the logarithm of the label's probability.
  double go_forward() {
    for (std::int64_t t = 0; t < shape_.steps; ++t) {
      const float* const logits = logits_ + t * shape_.classes;
      const auto most = static_cast<double>(*std::max_element(logits, logits + shape_.classes));
      double sum = 0;
      for (std::int64_t c = 0; c < shape_.classes; ++c) sum += std::exp(static_cast<double>(logits[c]) - most);
      sums_[t] = most + std::log(sum);
      double* const now = forward_ + t * shape_.most_states();
      for (std::int64_t s = 0; s < states_.count; ++s) {
        const double before = t > 0   ? states_.leading_to(now - shape_.most_states(), s)
                              : s < 2 ? 0
                                      : scalar::log_of_nothing();
        now[s] = before + log_probability(t, states_.symbol(s));
      }
    }
    return states_.total(forward_ + (shape_.steps - 1) * shape_.most_states());
  }

  /// After go_forward: a class's gradient is its probability less what the label's paths have of it.
  void write_gradient(double total, float* gradient) {
    if (total == scalar::log_of_nothing())
      return static_cast<void>(std::fill_n(gradient, shape_.steps * shape_.classes, 0.0f));
    for (std::int64_t t = shape_.steps; t-- > 0;) {
      double *const now = backward_ + t % 2 * shape_.most_states(), *const next =
                                                                        backward_ + (t + 1) % 2 * shape_.most_states();
      const double* const forward = forward_ + t * shape_.most_states();
      float* const to = gradient + t * shape_.classes;
      for (std::int64_t c = 0; c < shape_.classes; ++c) to[c] = static_cast<float>(std::exp(log_probability(t, c)));
      for (std::int64_t s = 0; s < states_.count; ++s) {
        const double after = t + 1 < shape_.steps     ? states_.following(next, s)
                             : s + 2 >= states_.count ? 0
                                                      : scalar::log_of_nothing();
        to[states_.symbol(s)] -= static_cast<float>(std::exp(forward[s] + after - total));
        now[s] = after + log_probability(t, states_.symbol(s));
      }
    }
  }

 private:
  double log_probability(std::int64_t step, std::int64_t symbol) const {
    return static_cast<double>(logits_[step * shape_.classes + symbol]) - sums_[step];
  }

  const CtcShape& shape_;
  const float* logits_;
  const CtcStates states_;
  double *sums_, *forward_, *backward_;
};

std::unique_ptr<Kernel> make_ctc(const ops::Ctc&, const KernelSpecs& specs) {
  const CtcShape shape(specs.inputs[0].shape, specs.inputs[1].shape);
  const std::size_t bytes = static_cast<std::size_t>(shape.rows * shape.scratch()) * sizeof(double);
  return loop_kernel(
      [shape, threads = specs.threads](const KernelArgs& args) {
        const float* const logits = input<float>(args, 0);
        const auto* const labels = input<std::int32_t>(args, 1);
        float *const loss = output<float>(args, 0), *const gradient = output<float>(args, 1);
        auto* const scratch = reinterpret_cast<double*>(args.workspace);
        parallel_for(threads, shape.rows, 1, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t row = begin; row < end; ++row) {
            CtcExample example(shape, logits + row * shape.steps * shape.classes, labels + row * shape.length,
                               scratch + row * shape.scratch());
            const double total = example.go_forward();
            if (loss != nullptr) loss[row] = static_cast<float>(-total);
            if (gradient != nullptr) example.write_gradient(total, gradient + row * shape.steps * shape.classes);
          }
        });
      },
      bytes);
}

}  // namespace

void add_ctc_kernels(KernelRegistry& registry) { registry.add<ops::Ctc>(make_ctc); }

}  // namespace mirrortrain::cpu
