#include "kernels/scalar/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/loops.h"
#include "kernels/cpu/micro_gemm.h"
#include "kernels/cpu/registry.h"
#include "kernels/cpu/row.h"
#include "kernels/cpu/row_dropout.h"
#include "kernels/cpu/transpose.h"

namespace mirrortrain::cpu {
namespace {

// A block of scores, 32 x 128 floats, stays in the first-level cache beside the operands that make it.
constexpr std::int64_t kQueries = 32, kKeys = 128;

/// One head of one row at a time: what belongs to it, as floats, in whole vectors.
struct Attended : scalar::AttentionShape {
  using AttentionShape::AttentionShape;

  std::int64_t columns() const { return padded(sources); }
  std::int64_t wide() const { return padded(size); }
  std::int64_t value_wide() const { return padded(value_size); }
};

/// What belongs to the masks of a row.
struct Sight : scalar::AttentionSight {
  using AttentionSight::AttentionSight;

  /// The source steps that count for a block of steps.
  std::int64_t reach_of(std::int64_t first_step, std::int64_t count) const {
    if (!is_masked()) return a.seen(first_step + count - 1);
    std::int64_t most = 0;
    for (std::int64_t i = 0; i < count; ++i) most = std::max(most, reach(first_step + i));
    return most;
  }
  /// The source steps of a block from `source` on that count for a step; hides others among them in the step's scores.
  std::int64_t look(std::int64_t step, std::int64_t source, std::int64_t count, float* scores) const {
    const std::int64_t sees = std::clamp<std::int64_t>(reach(step) - source, 0, count);
    if (!is_masked()) return sees;
    if (is_blind(step)) {
      std::fill_n(scores, sees, 0.0f);
    } else {
      for (std::int64_t i = 0; i < sees; ++i) scores[i] = hides(source + i) ? kHidden : scores[i];
    }
    return sees;
  }
};

/// [count][width] of a head, from rows `stride` apart, as floats times `factor`; zeros up to `wide`.
template <class T>
void gather(const T* from, std::int64_t count, std::int64_t stride, std::int64_t width, std::int64_t wide, float factor,
            float* to) {
  for (std::int64_t row = 0; row < count; ++row, from += stride, to += wide) {
    each_vector(width, [&](std::int64_t i, auto part) { store(to + i, get(from + i, part) * factor); });
  }
}

template <class T>
void scatter(const float* from, std::int64_t count, std::int64_t wide, std::int64_t width, float factor, T* to,
             std::int64_t stride) {
  for (std::int64_t row = 0; row < count; ++row, from += wide, to += stride) {
    each_vector(width, [&](std::int64_t i, auto part) { put(to + i, load(from + i) * factor, part); });
  }
}

/// [wide][columns] from [count][wide]; zeros beyond `count`.
void turn(const float* from, std::int64_t count, std::int64_t wide, std::int64_t columns, float* to) {
  transpose(count, wide, from, wide, to, columns);
  for (std::int64_t row = 0; row < wide; ++row) std::fill(to + row * columns + count, to + (row + 1) * columns, 0.0f);
}

/// The dropout of a head's weights.
struct WeightDropout {
  const Attended& a;
  RowDropout drop;
  std::uint32_t row;
  std::int64_t head;

  WeightDropout(const Attended& attended, const StepParams& step, std::int64_t of_row, std::int64_t of_head)
      : a(attended),
        drop{a.op.dropout, a.op.stream, Philox::with_key(step.seed), static_cast<std::uint32_t>(step.step)},
        row(static_cast<std::uint32_t>(step.first_row + of_row)),
        head(of_head) {}

  void operator()(float* weights, std::int64_t step, std::int64_t source, std::int64_t count) const {
    if (drop.rate > 0) drop(weights, weights, count, row, a.element(head, step, source));
  }
};

/// The parts of a thread's workspace: offsets in floats.
struct HeadLayout : WorkspaceLayout {
  std::size_t floats(std::int64_t count) {
    return add(static_cast<std::size_t>(count) * sizeof(float)) / sizeof(float);
  }
};

struct ForwardLayout : HeadLayout {
  std::size_t keys, turned, values, queries, scores, sums, largest, totals;

  explicit ForwardLayout(const Attended& a)
      : keys(floats(a.sources * a.wide())),
        turned(floats(a.wide() * a.columns())),
        values(floats(a.sources * a.value_wide())),
        queries(floats(kQueries * a.wide())),
        scores(floats(kQueries * kKeys)),
        sums(floats(kQueries * a.value_wide())),
        largest(floats(kQueries)),
        totals(floats(kQueries)) {}
};

template <class T>
void attend(const Attended& a, const ForwardLayout& layout, std::int64_t row, std::int64_t head, const KernelArgs& args,
            float* workspace) {
  const std::int64_t stride = a.op.heads * a.size, value_stride = a.op.heads * a.value_size;
  const T* const query = input<T>(args, 0) + a.at(row, 0, head, a.steps, a.size);
  const T* const key = input<T>(args, 1) + a.at(row, 0, head, a.sources, a.size);
  const T* const value = input<T>(args, 2) + a.at(row, 0, head, a.sources, a.value_size);
  T* const output_data = output<T>(args, 0);
  float* const log_sums = output<float>(args, 1);
  const WeightDropout drop(a, *args.step, row, head);
  const Sight sight(a, input<float>(args, 3), input<float>(args, 4), row);

  float* const keys = workspace + layout.keys;
  float* const turned = workspace + layout.turned;
  float* const values = workspace + layout.values;
  float* const queries = workspace + layout.queries;
  float* const scores = workspace + layout.scores;
  float* const sums = workspace + layout.sums;
  float* const largest = workspace + layout.largest;
  float* const totals = workspace + layout.totals;
  gather(key, a.sources, stride, a.size, a.wide(), 1, keys);
  turn(keys, a.sources, a.wide(), a.columns(), turned);
  gather(value, a.sources, value_stride, a.value_size, a.value_wide(), 1, values);

  for (std::int64_t first = 0; first < a.steps; first += kQueries) {
    const std::int64_t count = std::min(kQueries, a.steps - first), seen = sight.reach_of(first, count);
    gather(query + first * stride, count, stride, a.size, a.wide(), a.op.scale, queries);
    std::fill_n(sums, count * a.value_wide(), 0.0f);
    std::fill_n(largest, count, -std::numeric_limits<float>::infinity());
    std::fill_n(totals, count, 0.0f);
    for (std::int64_t source = 0; source < seen; source += kKeys) {
      const std::int64_t sources = std::min(kKeys, seen - source);
      multiply(count, padded(sources), a.size, Scalars{queries, a.wide(), 1}, {turned + source, a.columns()},
               {scores, kKeys}, {});
      for (std::int64_t i = 0; i < count; ++i) {
        float* const weights = scores + i * kKeys;
        const std::int64_t sees = sight.look(first + i, source, sources, weights);
        const float most = std::max(largest[i], Row::largest(sees, [&](auto at) { return Row::load(weights, at); }));
        const float total = Row::sum(sees, [&](auto at) {
          const Vec power = scalar::exp<Vec>(Row::load(weights, at) - most);
          Row::store(weights, at, power);
          return power;
        });
        std::fill(weights + sees, weights + sources, 0.0f);
        const float kept = largest[i] == most ? 1.0f : std::exp(largest[i] - most);
        totals[i] = totals[i] * kept + total;
        largest[i] = most;
        if (kept != 1.0f) {
          float* const sum = sums + i * a.value_wide();
          for (std::int64_t c = 0; c < a.value_wide(); c += kLanes) store(sum + c, load(sum + c) * kept);
        }
        drop(weights, first + i, source, sources);
      }
      multiply(count, a.value_wide(), sources, Scalars{scores, kKeys, 1},
               {values + source * a.value_wide(), a.value_wide()}, {sums, a.value_wide()}, {.accumulate = true});
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t step = first + i;
      if (output_data != nullptr) {
        scatter(sums + i * a.value_wide(), 1, a.value_wide(), a.value_size, totals[i] > 0 ? 1 / totals[i] : 0,
                output_data + a.at(row, step, head, a.steps, a.value_size), value_stride);
      }
      if (log_sums != nullptr) {
        log_sums[a.of_step(row, head, step)] = totals[i] > 0 ? largest[i] + std::log(totals[i]) : 0;
      }
    }
  }
}

struct BackwardLayout : HeadLayout {
  std::size_t keys, turned, values, turned_values, key_sums, value_sums, queries, query_sums, outputs, gradients,
      weights, dropped, slopes, dots;

  explicit BackwardLayout(const Attended& a)
      : keys(floats(a.sources * a.wide())),
        turned(floats(a.wide() * a.columns())),
        values(floats(a.sources * a.value_wide())),
        turned_values(floats(a.value_wide() * a.columns())),
        key_sums(floats(a.sources * a.wide())),
        value_sums(floats(a.sources * a.value_wide())),
        queries(floats(kQueries * a.wide())),
        query_sums(floats(kQueries * a.wide())),
        outputs(floats(kQueries * a.value_wide())),
        gradients(floats(kQueries * a.value_wide())),
        weights(floats(kQueries * kKeys)),
        dropped(floats(kQueries * kKeys)),
        slopes(floats(kQueries * kKeys)),
        dots(floats(kQueries)) {}
};

/// With P the weights, S their scores, O = P V: dV = Pᵀ dO, dP = dO Vᵀ, dS = P (dP - sum(dO O)), dQ = scale dS K, dK =
/// scale dSᵀ Q. P is made again from the scores and their sum; dropout of P falls on dP alike.
template <class T>
void attend_backward(const Attended& a, const BackwardLayout& layout, std::int64_t row, std::int64_t head,
                     const KernelArgs& args, float* workspace) {
  const std::int64_t stride = a.op.heads * a.size, value_stride = a.op.heads * a.value_size;
  const std::int64_t of_steps = a.at(row, 0, head, a.steps, a.size);
  const std::int64_t of_sources = a.at(row, 0, head, a.sources, a.size);
  const std::int64_t of_values = a.at(row, 0, head, a.sources, a.value_size);
  const std::int64_t of_outputs = a.at(row, 0, head, a.steps, a.value_size);
  const float* const log_sums = input<float>(args, 4) + a.of_step(row, head, 0);
  const WeightDropout drop(a, *args.step, row, head);
  const Sight sight(a, input<float>(args, 6), input<float>(args, 7), row);

  float* const keys = workspace + layout.keys;
  float* const turned = workspace + layout.turned;
  float* const values = workspace + layout.values;
  float* const turned_values = workspace + layout.turned_values;
  float* const key_sums = workspace + layout.key_sums;
  float* const value_sums = workspace + layout.value_sums;
  float* const queries = workspace + layout.queries;
  float* const query_sums = workspace + layout.query_sums;
  float* const outputs = workspace + layout.outputs;
  float* const gradients = workspace + layout.gradients;
  float* const weights = workspace + layout.weights;
  float* const dropped = workspace + layout.dropped;
  float* const slopes = workspace + layout.slopes;
  float* const dots = workspace + layout.dots;
  gather(input<T>(args, 1) + of_sources, a.sources, stride, a.size, a.wide(), 1, keys);
  turn(keys, a.sources, a.wide(), a.columns(), turned);
  gather(input<T>(args, 2) + of_values, a.sources, value_stride, a.value_size, a.value_wide(), 1, values);
  turn(values, a.sources, a.value_wide(), a.columns(), turned_values);
  std::fill_n(key_sums, a.sources * a.wide(), 0.0f);
  std::fill_n(value_sums, a.sources * a.value_wide(), 0.0f);

  for (std::int64_t first = 0; first < a.steps; first += kQueries) {
    const std::int64_t count = std::min(kQueries, a.steps - first), seen = sight.reach_of(first, count);
    gather(input<T>(args, 0) + of_steps + first * stride, count, stride, a.size, a.wide(), a.op.scale, queries);
    const std::int64_t at = of_outputs + first * value_stride;
    gather(input<T>(args, 3) + at, count, value_stride, a.value_size, a.value_wide(), 1, outputs);
    gather(input<T>(args, 5) + at, count, value_stride, a.value_size, a.value_wide(), 1, gradients);
    for (std::int64_t i = 0; i < count; ++i) {
      const float *given = outputs + i * a.value_wide(), *gradient = gradients + i * a.value_wide();
      dots[i] = Row::sum(a.value_size, [&](auto c) -> Vec { return Row::load(given, c) * Row::load(gradient, c); });
    }
    std::fill_n(query_sums, count * a.wide(), 0.0f);
    for (std::int64_t source = 0; source < seen; source += kKeys) {
      const std::int64_t sources = std::min(kKeys, seen - source);
      multiply(count, padded(sources), a.size, Scalars{queries, a.wide(), 1}, {turned + source, a.columns()},
               {weights, kKeys}, {});
      multiply(count, padded(sources), a.value_size, Scalars{gradients, a.value_wide(), 1},
               {turned_values + source, a.columns()}, {slopes, kKeys}, {});
      for (std::int64_t i = 0; i < count; ++i) {
        float *weight = weights + i * kKeys, *kept = dropped + i * kKeys, *slope = slopes + i * kKeys;
        const std::int64_t sees = sight.look(first + i, source, sources, weight);
        drop(slope, first + i, source, sources);
        Row::each(sees, [&](auto c) {
          const Vec p = scalar::exp<Vec>(Row::load(weight, c) - log_sums[first + i]);
          Row::store(kept, c, p);
          Row::store(slope, c, p * (Row::load(slope, c) - dots[i]));
        });
        std::fill(kept + sees, kept + sources, 0.0f);
        // A blind step's weights do not depend on its scores.
        std::fill(slope + (sight.is_masked() && sight.is_blind(first + i) ? 0 : sees), slope + sources, 0.0f);
        drop(kept, first + i, source, sources);
      }
      multiply(sources, a.value_wide(), count, Scalars{dropped, 1, kKeys}, {gradients, a.value_wide()},
               {value_sums + source * a.value_wide(), a.value_wide()}, {.accumulate = true});
      multiply(sources, a.wide(), count, Scalars{slopes, 1, kKeys}, {queries, a.wide()},
               {key_sums + source * a.wide(), a.wide()}, {.accumulate = true});
      multiply(count, a.wide(), sources, Scalars{slopes, kKeys, 1}, {keys + source * a.wide(), a.wide()},
               {query_sums, a.wide()}, {.accumulate = true});
    }
    if (T* const to = output<T>(args, 0); to != nullptr) {
      scatter(query_sums, count, a.wide(), a.size, a.op.scale, to + of_steps + first * stride, stride);
    }
  }
  if (T* const to = output<T>(args, 1); to != nullptr) {
    scatter(key_sums, a.sources, a.wide(), a.size, 1, to + of_sources, stride);
  }
  if (T* const to = output<T>(args, 2); to != nullptr) {
    scatter(value_sums, a.sources, a.value_wide(), a.value_size, 1, to + of_values, value_stride);
  }
}

/// Heads are shared out among the threads, each with a workspace of its own; what one head gives never depends on that.
template <class Body>
std::unique_ptr<Kernel> kernel_by_heads(const Attended& a, std::size_t bytes, int threads, const Body& body) {
  const std::int64_t heads = a.rows * a.op.heads;
  const auto parts = static_cast<std::size_t>(std::clamp<std::int64_t>(heads, 1, threads));
  return loop_kernel(
      [=](const KernelArgs& args) {
        parallel_parts(threads, heads, 1, [&](int part, std::int64_t begin, std::int64_t end) {
          auto* const workspace = reinterpret_cast<float*>(args.workspace + static_cast<std::size_t>(part) * bytes);
          for (std::int64_t i = begin; i < end; ++i) body(i / a.op.heads, i % a.op.heads, args, workspace);
        });
      },
      parts * bytes);
}

std::unique_ptr<Kernel> make_attention(const ops::Attention& op, const KernelSpecs& specs) {
  const Attended a(op, specs.inputs[0].shape, specs.inputs[1].shape, specs.inputs[2].shape);
  const ForwardLayout layout(a);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return kernel_by_heads(a, layout.bytes(), specs.threads,
                           [a, layout](std::int64_t row, std::int64_t head, const KernelArgs& args, float* workspace) {
                             attend<T>(a, layout, row, head, args, workspace);
                           });
  });
}

std::unique_ptr<Kernel> make_attention_gradient(const ops::AttentionGradient& op, const KernelSpecs& specs) {
  const Attended a(op, specs.inputs[0].shape, specs.inputs[1].shape, specs.inputs[2].shape);
  const BackwardLayout layout(a);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return kernel_by_heads(a, layout.bytes(), specs.threads,
                           [a, layout](std::int64_t row, std::int64_t head, const KernelArgs& args, float* workspace) {
                             attend_backward<T>(a, layout, row, head, args, workspace);
                           });
  });
}

}  // namespace

void add_attention_kernels(KernelRegistry& registry) {
  registry.add<ops::Attention>(make_attention);
  registry.add<ops::AttentionGradient>(make_attention_gradient);
}

}  // namespace mirrortrain::cpu
