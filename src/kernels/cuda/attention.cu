#include "base/philox.h"
#include "kernels/cuda/attention.h"
#include "kernels/cuda/custom_kernels.h"
#include "kernels/cuda/pack.h"
#include "kernels/cuda/stream_kernel.h"
#include "kernels/cuda/team.h"
#include "kernels/scalar/math.h"

// Attention for heads of any size, and for float32 that keeps its mantissa.
namespace mirrortrain::cuda {
namespace {

/// A step of a head of a row.
struct HeadStep {
  std::int64_t row, head, step;

  __device__ HeadStep(const AttentionShape& a, std::int64_t number, std::int64_t steps) {
    const Division by_step = divide(number, steps), by_head = divide(by_step.quotient, a.op.heads);
    row = by_head.quotient, head = by_head.rest, step = by_step.rest;
  }
};

/// The operands, and values derived from them for a step and a source step.
template <class T>
struct Operands : AttentionOperands<T> {
  using Base = AttentionOperands<T>;
  using Base::a, Base::query, Base::key, Base::value, Base::query_mask, Base::value_mask, Base::params;

  __device__ scalar::AttentionSight sight(std::int64_t row) const {
    return scalar::AttentionSight(a, query_mask, value_mask, row);
  }

  __device__ float score(const HeadStep& s, std::int64_t source) const {
    const T* q = query + a.at(s.row, s.step, s.head, a.steps, a.size);
    const T* k = key + a.at(s.row, source, s.head, a.sources, a.size);
    float sum = 0;
    for (std::int64_t c = 0; c < a.size; ++c) sum += static_cast<float>(q[c]) * static_cast<float>(k[c]);
    return a.op.scale * sum;
  }
  /// The score from which the step's weights are computed.
  __device__ float seen_score(const scalar::AttentionSight& sight, const HeadStep& s, std::int64_t source) const {
    if (!sight.is_masked()) return score(s, source);
    if (sight.is_blind(s.step)) return 0;
    return sight.hides(s.step, source) ? scalar::AttentionSight::kHidden : score(s, source);
  }
  /// Dropout's factor of the weight.
  __device__ float kept(const HeadStep& s, std::int64_t source) const {
    if (a.op.dropout == 0) return 1;
    const std::int64_t element = a.element(s.head, s.step, source);
    const Philox::Words words = Philox::with_key(params->seed)(static_cast<std::uint32_t>(element / 4),
                                                               static_cast<std::uint32_t>(params->first_row + s.row),
                                                               static_cast<std::uint32_t>(params->step), a.op.stream);
    return uniform_from_bits(words.word[element % 4]) < a.op.dropout ? 0.0f : 1.0f / (1.0f - a.op.dropout);
  }
};

/// The sum of weight(source) number(source) over the source steps that are seen. A block computes kBlock weights at a
/// time, in `shared`; then each thread that `takes_part` adds its own numbers.
template <class Weight, class Number>
__device__ float sum_over_sources(float* shared, std::int64_t seen, bool takes_part, const Weight& weight,
                                  const Number& number) {
  float sum = 0;
  for (std::int64_t tile = 0; tile < seen; tile += kBlock) {
    const std::int64_t own = tile + WholeBlock::rank(), count = seen - tile < kBlock ? seen - tile : kBlock;
    if (own < seen) shared[WholeBlock::rank()] = weight(own);
    __syncthreads();
    for (std::int64_t i = 0; takes_part && i < count; ++i) sum += shared[i] * static_cast<float>(number(tile + i));
    __syncthreads();
  }
  return sum;
}

/// A block processes a step of a head: each thread a source step for the weights, then a number of the output.
template <class T>
__global__ void __launch_bounds__(kBlock) attention(Operands<T> in, T* y, float* log_sums) {
  __shared__ float weights[kBlock];
  const WholeBlock team;
  const AttentionShape& a = in.a;
  for (std::int64_t number = team.first(); number < a.rows * a.op.heads * a.steps; number += team.step()) {
    const HeadStep s(a, number, a.steps);
    const scalar::AttentionSight sight = in.sight(s.row);
    const std::int64_t seen = sight.reach(s.step);
    float largest = -INFINITY, total = 0;
    each_element(team, seen, [&](std::int64_t source) {
      const float score = in.seen_score(sight, s, source);
      largest = score > largest ? score : largest;
    });
    largest = team_max(team, largest);
    each_element(team, seen,
                 [&](std::int64_t source) { total += scalar::exp(in.seen_score(sight, s, source) - largest); });
    total = team_sum(team, total);  // 0 where nothing is seen; NaN stays
    if (log_sums != nullptr && team.rank() == 0) {
      log_sums[a.of_step(s.row, s.head, s.step)] = total == 0.0f ? 0.0f : largest + logf(total);
    }
    if (y == nullptr) continue;
    for (std::int64_t first = 0; first < a.value_size; first += kBlock) {
      const std::int64_t c = first + team.rank();
      const float sum = sum_over_sources(
          weights, seen, c < a.value_size,
          [&](std::int64_t source) {
            return scalar::exp(in.seen_score(sight, s, source) - largest) * in.kept(s, source);
          },
          [&](std::int64_t source) { return in.value[a.at(s.row, source, s.head, a.sources, a.value_size) + c]; });
      if (c < a.value_size)
        y[a.at(s.row, s.step, s.head, a.steps, a.value_size) + c] = T(total == 0.0f ? 0.0f : sum / total);
    }
  }
}

/// The operands of the gradients, and values derived from them likewise.
template <class T>
struct Gradients {
  Operands<T> in;
  const T *output, *gradient;
  const float* log_sums;
  float* dots;

  explicit Gradients(const AttentionGradients<T>& g)
      : in{g.in}, output(g.output), gradient(g.gradient), log_sums(g.log_sums), dots(g.dots) {}

  __device__ float weight(const scalar::AttentionSight& sight, const HeadStep& s, std::int64_t source) const {
    if (source >= sight.reach(s.step)) return 0;
    return scalar::exp(in.seen_score(sight, s, source) - log_sums[in.a.of_step(s.row, s.head, s.step)]);
  }
  /// dS; the weights of a blind step do not depend on it.
  __device__ float slope(const scalar::AttentionSight& sight, const HeadStep& s, std::int64_t source, float weight,
                         float dot) const {
    if (sight.is_masked() && (weight == 0 || sight.is_blind(s.step))) return 0;
    const T* dy = gradient + in.a.at(s.row, s.step, s.head, in.a.steps, in.a.value_size);
    const T* v = in.value + in.a.at(s.row, source, s.head, in.a.sources, in.a.value_size);
    float sum = 0;
    for (std::int64_t c = 0; c < in.a.value_size; ++c) sum += static_cast<float>(dy[c]) * static_cast<float>(v[c]);
    return weight * (sum * in.kept(s, source) - dot);
  }
};

/// The gradient of the query, and the dots that the other two need; organized as `attention`.
template <class T>
__global__ void __launch_bounds__(kBlock) query_gradient(Gradients<T> g, T* dq) {
  __shared__ float slopes[kBlock];
  const WholeBlock team;
  const AttentionShape& a = g.in.a;
  for (std::int64_t number = team.first(); number < a.rows * a.op.heads * a.steps; number += team.step()) {
    const HeadStep s(a, number, a.steps);
    const scalar::AttentionSight sight = g.in.sight(s.row);
    const std::int64_t seen = sight.reach(s.step), at = a.at(s.row, s.step, s.head, a.steps, a.value_size);
    float dot = 0;
    each_element(team, a.value_size, [&](std::int64_t c) {
      dot += static_cast<float>(g.output[at + c]) * static_cast<float>(g.gradient[at + c]);
    });
    dot = team_sum(team, dot);
    if (team.rank() == 0) g.dots[a.of_step(s.row, s.head, s.step)] = dot;
    if (dq == nullptr) continue;
    for (std::int64_t first = 0; first < a.size; first += kBlock) {
      const std::int64_t c = first + team.rank();
      const float sum = sum_over_sources(
          slopes, seen, c < a.size,
          [&](std::int64_t source) { return g.slope(sight, s, source, g.weight(sight, s, source), dot); },
          [&](std::int64_t source) { return g.in.key[a.at(s.row, source, s.head, a.sources, a.size) + c]; });
      if (c < a.size) dq[a.at(s.row, s.step, s.head, a.steps, a.size) + c] = T(a.op.scale * sum);
    }
  }
}

/// The gradients of key and value: a block processes a source step, a thread a step and then a number of both.
template <class T>
__global__ void __launch_bounds__(kBlock) source_gradients(Gradients<T> g, T* dk, T* dv) {
  __shared__ float slopes[kBlock], weights[kBlock];
  const WholeBlock team;
  const AttentionShape& a = g.in.a;
  const std::int64_t width = a.size > a.value_size ? a.size : a.value_size;
  for (std::int64_t number = team.first(); number < a.rows * a.op.heads * a.sources; number += team.step()) {
    const HeadStep of_source(a, number, a.sources);
    const scalar::AttentionSight sight = g.in.sight(of_source.row);
    // Blind steps may attend to later ones.
    const std::int64_t source = of_source.step, begin = a.op.causal && !sight.is_masked() ? source : 0;
    for (std::int64_t first = 0; first < width; first += kBlock) {
      const std::int64_t c = first + team.rank();
      float key_sum = 0, value_sum = 0;
      for (std::int64_t tile = begin; tile < a.steps; tile += kBlock) {
        const std::int64_t count = a.steps - tile < kBlock ? a.steps - tile : kBlock;
        HeadStep s = of_source;
        s.step = tile + team.rank();
        if (s.step < a.steps) {
          const float weight = g.weight(sight, s, source);
          weights[team.rank()] = weight * g.in.kept(s, source);
          slopes[team.rank()] = g.slope(sight, s, source, weight, g.dots[a.of_step(s.row, s.head, s.step)]);
        }
        __syncthreads();
        for (std::int64_t i = 0; i < count; ++i) {
          if (c < a.size) {
            key_sum += slopes[i] * static_cast<float>(g.in.query[a.at(s.row, tile + i, s.head, a.steps, a.size) + c]);
          }
          if (c < a.value_size) {
            value_sum +=
                weights[i] * static_cast<float>(g.gradient[a.at(s.row, tile + i, s.head, a.steps, a.value_size) + c]);
          }
        }
        __syncthreads();
      }
      if (dk != nullptr && c < a.size) {
        dk[a.at(of_source.row, source, of_source.head, a.sources, a.size) + c] = T(a.op.scale * key_sum);
      }
      if (dv != nullptr && c < a.value_size) {
        dv[a.at(of_source.row, source, of_source.head, a.sources, a.value_size) + c] = T(value_sum);
      }
    }
  }
}

/// `first_mask`: the number of the input that is the query's mask.
template <class T>
AttentionOperands<T> operands(const AttentionShape& a, const KernelArgs& args, std::size_t first_mask) {
  return {a,
          input<T>(args, 0),
          input<T>(args, 1),
          input<T>(args, 2),
          input<float>(args, first_mask),
          input<float>(args, first_mask + 1),
          args.step};
}

/// Calls make(T{}, whether tensor cores compute on T), T the type of the elements.
template <class Make>
std::unique_ptr<Kernel> with_type_of_attention(const Op& op, const AttentionShape& a, DType dtype, bool tf32,
                                               const Make& make) {
  const bool in_tiles = (dtype == DType::kBfloat16 || tf32) && fits_tiles(a);
  return for_float_type(op, dtype, [&]<class T>(T) { return make(T{}, in_tiles); });
}

std::unique_ptr<Kernel> make_attention(const ops::Attention& op, const KernelSpecs& specs, bool tf32) {
  const AttentionShape a(op, specs.inputs[0].shape, specs.inputs[1].shape, specs.inputs[2].shape);
  return with_type_of_attention(op, a, specs.inputs[0].dtype, tf32, [&]<class T>(T, bool in_tiles) {
    return stream_kernel([a, in_tiles](Stream& stream, const KernelArgs& args) {
      const AttentionOperands<T> in = operands<T>(a, args, 3);
      T* const y = output<T>(args, 0);
      float* const log_sums = output<float>(args, 1);
      if (in_tiles && in_packs(in.query, in.key, in.value, y)) return attend_in_tiles(stream, in, y, log_sums);
      launch(stream, blocks_for(a.rows * a.op.heads * a.steps, 1), kBlock, 0, attention<T>, Operands<T>{in}, y,
             log_sums);
    });
  });
}

std::unique_ptr<Kernel> make_attention_gradient(const ops::AttentionGradient& op, const KernelSpecs& specs, bool tf32) {
  const AttentionShape a(op, specs.inputs[0].shape, specs.inputs[1].shape, specs.inputs[2].shape);
  return with_type_of_attention(op, a, specs.inputs[0].dtype, tf32, [&]<class T>(T, bool in_tiles) {
    const auto body = [a, in_tiles](Stream& stream, const KernelArgs& args) {
      const AttentionGradients<T> g{operands<T>(a, args, 6), input<T>(args, 3), input<T>(args, 5),
                                    input<float>(args, 4), reinterpret_cast<float*>(args.workspace)};
      T *const dq = output<T>(args, 0), *const dk = output<T>(args, 1), *const dv = output<T>(args, 2);
      if (in_tiles && in_packs(g.in.query, g.in.key, g.in.value, g.output, g.gradient, dq, dk, dv)) {
        return attention_gradients_in_tiles(stream, g, dq, dk, dv);
      }
      const Gradients<T> gradients(g);
      launch(stream, blocks_for(a.rows * a.op.heads * a.steps, 1), kBlock, 0, query_gradient<T>, gradients, dq);
      if (dk == nullptr && dv == nullptr) return;
      launch(stream, blocks_for(a.rows * a.op.heads * a.sources, 1), kBlock, 0, source_gradients<T>, gradients, dk, dv);
    };
    return stream_kernel(body, static_cast<std::size_t>(a.rows * a.op.heads * a.steps) * sizeof(float));
  });
}

void add_kernels_of_attention(KernelRegistry& registry, bool tf32) {
  registry.add<ops::Attention>(
      [tf32](const ops::Attention& op, const KernelSpecs& specs) { return make_attention(op, specs, tf32); });
  registry.add<ops::AttentionGradient>([tf32](const ops::AttentionGradient& op, const KernelSpecs& specs) {
    return make_attention_gradient(op, specs, tf32);
  });
}

}  // namespace

void add_attention_kernels(KernelRegistry& registry) { add_kernels_of_attention(registry, false); }
void add_tf32_attention_kernels(KernelRegistry& registry) { add_kernels_of_attention(registry, true); }

}  // namespace mirrortrain::cuda
