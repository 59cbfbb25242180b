#include "kernels/cpu/attention.h"

#include <cmath>
#include <limits>

#include "kernels/cpu/micro_gemm.h"
#include "kernels/cpu/row.h"

namespace mirrortrain::cpu {
namespace {

/// A head in a thread's workspace: all its source steps, and a block of its steps with their partial results.
struct AttendedParts : FloatParts {
  float *keys, *turned, *values;
  float *queries, *scores, *sums, *largest, *totals;

  AttendedParts(const Attended& a, float* workspace)
      : FloatParts(workspace),
        keys(take(a.sources * a.wide())),
        turned(take(a.wide() * a.columns())),
        values(take(a.sources * a.value_wide())),
        queries(take(kQueries * a.wide())),
        scores(take(kQueries * kKeys)),
        sums(take(kQueries * a.value_wide())),
        largest(take(kQueries)),
        totals(take(kQueries)) {}
};

/// softmax(Q Kᵀ) V with a running maximum of the scores and sum of the weights over blocks of source steps: earlier
/// sums are rescaled at each new maximum.
template <class T>
class HeadForward : AttendedHead {
 public:
  HeadForward(const Attended& attended, std::int64_t row, std::int64_t head, const KernelArgs& args, float* workspace)
      : AttendedHead(attended, row, head, args, 3), p(a, workspace) {}

  void run() const {
    gather_steps(input<T>(args_, 1) + a.at(row_, 0, head_, a.sources, a.size), a.sources, a.stride(), a.size, a.wide(),
                 1, p.keys);
    turn_steps(p.keys, a.sources, a.wide(), a.columns(), p.turned);
    gather_steps(input<T>(args_, 2) + a.at(row_, 0, head_, a.sources, a.value_size), a.sources, a.value_stride(),
                 a.value_size, a.value_wide(), 1, p.values);
    each_span(0, a.steps, kQueries, [&](Span steps) {
      begin(steps);
      each_span(sight_.first_of(steps.first, steps.count), sight_.reach_of(steps.first, steps.count), kKeys,
                [&](Span sources) { add(steps, sources); });
      write(steps);
    });
  }

 private:
  void begin(Span steps) const {
    gather_steps(input<T>(args_, 0) + a.at(row_, steps.first, head_, a.steps, a.size), steps.count, a.stride(), a.size,
                 a.wide(), a.op.scale, p.queries);
    std::fill_n(p.sums, steps.count * a.value_wide(), 0.0f);
    std::fill_n(p.largest, steps.count, -std::numeric_limits<float>::infinity());
    std::fill_n(p.totals, steps.count, 0.0f);
  }

  void add(Span steps, Span sources) const {
    multiply(steps.count, padded(sources.count), a.size, Scalars{p.queries, a.wide(), 1},
             {p.turned + sources.first, a.columns()}, {p.scores, kKeys}, {});
    for (std::int64_t i = 0; i < steps.count; ++i) weigh(i, steps.first + i, sources);
    multiply(steps.count, a.value_wide(), sources.count, Scalars{p.scores, kKeys, 1},
             {p.values + sources.first * a.value_wide(), a.value_wide()}, {p.sums, a.value_wide()},
             {.accumulate = true});
  }

  /// Computes weights from a step's scores. `i`: its index in the block.
  void weigh(std::int64_t i, std::int64_t step, Span sources) const {
    float* const weights = p.scores + i * kKeys;
    const std::int64_t sees = sight_.look(step, sources.first, sources.count, weights);
    const float most = std::max(p.largest[i], Row::largest(sees, [&](auto at) { return Row::load(weights, at); }));
    const float total = Row::sum(sees, [&](auto at) {
      const Vec power = scalar::exp<Vec>(Row::load(weights, at) - most);
      Row::store(weights, at, power);
      return power;
    });
    std::fill(weights + sees, weights + sources.count, 0.0f);
    const float kept = p.largest[i] == most ? 1.0f : std::exp(p.largest[i] - most);
    p.totals[i] = p.totals[i] * kept + total;
    p.largest[i] = most;
    if (kept != 1.0f) {
      float* const sum = p.sums + i * a.value_wide();
      for (std::int64_t c = 0; c < a.value_wide(); c += kLanes) store(sum + c, load(sum + c) * kept);
    }
    drop_(weights, step, sources.first, sources.count);
  }

  void write(Span steps) const {
    T* const outputs = output<T>(args_, 0);
    float* const log_sums = output<float>(args_, 1);
    for (std::int64_t i = 0; i < steps.count; ++i) {
      const std::int64_t step = steps.first + i;
      const float total = p.totals[i];
      if (outputs != nullptr) {
        scatter_steps(p.sums + i * a.value_wide(), 1, a.value_wide(), a.value_size, total == 0 ? 0 : 1 / total,
                      outputs + a.at(row_, step, head_, a.steps, a.value_size), a.value_stride());
      }
      if (log_sums != nullptr) {
        log_sums[a.of_step(row_, head_, step)] = total == 0 ? 0 : p.largest[i] + std::log(total);
      }
    }
  }

  const AttendedParts p;
};

}  // namespace

void add_attention_kernels(KernelRegistry& registry) {
  registry.add<ops::Attention>(make_by_heads<AttendedParts, HeadForward, ops::Attention>);
}

}  // namespace mirrortrain::cpu
