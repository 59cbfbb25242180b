#include "kernels/cpu/attention.h"
#include "kernels/cpu/micro_gemm.h"
#include "kernels/cpu/row.h"

namespace mirrortrain::cpu {
namespace {

/// A head in a thread's workspace: all its source steps with their gradients, and a block of its steps.
struct AttendedGradientParts : FloatParts {
  float *keys, *turned, *values, *turned_values, *key_sums, *value_sums;
  float *queries, *query_sums, *outputs, *gradients, *weights, *dropped, *slopes, *dots;

  AttendedGradientParts(const Attended& a, float* workspace)
      : FloatParts(workspace),
        keys(take(a.sources * a.wide())),
        turned(take(a.wide() * a.columns())),
        values(take(a.sources * a.value_wide())),
        turned_values(take(a.value_wide() * a.columns())),
        key_sums(take(a.sources * a.wide())),
        value_sums(take(a.sources * a.value_wide())),
        queries(take(kQueries * a.wide())),
        query_sums(take(kQueries * a.wide())),
        outputs(take(kQueries * a.value_wide())),
        gradients(take(kQueries * a.value_wide())),
        weights(take(kQueries * kKeys)),
        dropped(take(kQueries * kKeys)),
        slopes(take(kQueries * kKeys)),
        dots(take(kQueries)) {}
};

/// With P the weights, S their scores, O = P V: dV = Pᵀ dO, dP = dO Vᵀ, dS = P (dP - sum(dO O)), dQ = scale dS K, dK =
/// scale dSᵀ Q. P is recomputed from the scores and their sum; dropout applies to P and dP alike.
template <class T>
class HeadBackward : AttendedHead {
 public:
  HeadBackward(const Attended& attended, std::int64_t row, std::int64_t head, const KernelArgs& args, float* workspace)
      : AttendedHead(attended, row, head, args, 6),
        log_sums_(input<float>(args, 4) + a.of_step(row, head, 0)),
        p(a, workspace) {}

  void run() const {
    const std::int64_t of_keys = a.at(row_, 0, head_, a.sources, a.size);
    const std::int64_t of_values = a.at(row_, 0, head_, a.sources, a.value_size);
    gather_steps(input<T>(args_, 1) + of_keys, a.sources, a.stride(), a.size, a.wide(), 1, p.keys);
    turn_steps(p.keys, a.sources, a.wide(), a.columns(), p.turned);
    gather_steps(input<T>(args_, 2) + of_values, a.sources, a.value_stride(), a.value_size, a.value_wide(), 1,
                 p.values);
    turn_steps(p.values, a.sources, a.value_wide(), a.columns(), p.turned_values);
    std::fill_n(p.key_sums, a.sources * a.wide(), 0.0f);
    std::fill_n(p.value_sums, a.sources * a.value_wide(), 0.0f);
    each_span(0, a.steps, kQueries, [&](Span steps) {
      begin(steps);
      each_span(sight_.first_of(steps.first, steps.count), sight_.reach_of(steps.first, steps.count), kKeys,
                [&](Span sources) { add(steps, sources); });
      if (T* const to = output<T>(args_, 0); to != nullptr) {
        scatter_steps(p.query_sums, steps.count, a.wide(), a.size, a.op.scale, to + of_queries(steps), a.stride());
      }
    });
    if (T* const to = output<T>(args_, 1); to != nullptr) {
      scatter_steps(p.key_sums, a.sources, a.wide(), a.size, 1, to + of_keys, a.stride());
    }
    if (T* const to = output<T>(args_, 2); to != nullptr) {
      scatter_steps(p.value_sums, a.sources, a.value_wide(), a.value_size, 1, to + of_values, a.value_stride());
    }
  }

 private:
  std::int64_t of_queries(Span steps) const { return a.at(row_, steps.first, head_, a.steps, a.size); }

  void begin(Span steps) const {
    gather_steps(input<T>(args_, 0) + of_queries(steps), steps.count, a.stride(), a.size, a.wide(), a.op.scale,
                 p.queries);
    const std::int64_t at = a.at(row_, steps.first, head_, a.steps, a.value_size);
    gather_steps(input<T>(args_, 3) + at, steps.count, a.value_stride(), a.value_size, a.value_wide(), 1, p.outputs);
    gather_steps(input<T>(args_, 5) + at, steps.count, a.value_stride(), a.value_size, a.value_wide(), 1, p.gradients);
    for (std::int64_t i = 0; i < steps.count; ++i) {
      const float *given = p.outputs + i * a.value_wide(), *gradient = p.gradients + i * a.value_wide();
      p.dots[i] = Row::sum(a.value_size, [&](auto c) -> Vec { return Row::load(given, c) * Row::load(gradient, c); });
    }
    std::fill_n(p.query_sums, steps.count * a.wide(), 0.0f);
  }

  void add(Span steps, Span sources) const {
    multiply(steps.count, padded(sources.count), a.size, Scalars{p.queries, a.wide(), 1},
             {p.turned + sources.first, a.columns()}, {p.weights, kKeys}, {});
    multiply(steps.count, padded(sources.count), a.value_size, Scalars{p.gradients, a.value_wide(), 1},
             {p.turned_values + sources.first, a.columns()}, {p.slopes, kKeys}, {});
    for (std::int64_t i = 0; i < steps.count; ++i) slope(i, steps.first + i, sources);
    multiply(sources.count, a.value_wide(), steps.count, Scalars{p.dropped, 1, kKeys}, {p.gradients, a.value_wide()},
             {p.value_sums + sources.first * a.value_wide(), a.value_wide()}, {.accumulate = true});
    multiply(sources.count, a.wide(), steps.count, Scalars{p.slopes, 1, kKeys}, {p.queries, a.wide()},
             {p.key_sums + sources.first * a.wide(), a.wide()}, {.accumulate = true});
    multiply(steps.count, a.wide(), sources.count, Scalars{p.slopes, kKeys, 1},
             {p.keys + sources.first * a.wide(), a.wide()}, {p.query_sums, a.wide()}, {.accumulate = true});
  }

  /// Computes a step's weights, with dropout, from its scores, and its dS from its dP. `i`: its index in the block.
  void slope(std::int64_t i, std::int64_t step, Span sources) const {
    float *const weight = p.weights + i * kKeys, *const kept = p.dropped + i * kKeys,
                 *const slope = p.slopes + i * kKeys;
    const std::int64_t sees = sight_.look(step, sources.first, sources.count, weight);
    drop_(slope, step, sources.first, sources.count);
    const float log_sum = log_sums_[step], dot = p.dots[i];
    Row::each(sees, [&](auto c) {
      const Vec power = scalar::exp<Vec>(Row::load(weight, c) - log_sum);
      Row::store(kept, c, power);
      Row::store(slope, c, power * (Row::load(slope, c) - dot));
    });
    std::fill(kept + sees, kept + sources.count, 0.0f);
    // A blind step's weights do not depend on its scores.
    const bool is_blind = sight_.is_masked() && sight_.is_blind(step);
    std::fill(slope + (is_blind ? 0 : sees), slope + sources.count, 0.0f);
    drop_(kept, step, sources.first, sources.count);
  }

  const float* const log_sums_;  ///< by step
  const AttendedGradientParts p;
};

}  // namespace

void add_attention_gradient_kernels(KernelRegistry& registry) {
  registry.add<ops::AttentionGradient>(make_by_heads<AttendedGradientParts, HeadBackward, ops::AttentionGradient>);
}

}  // namespace mirrortrain::cpu
