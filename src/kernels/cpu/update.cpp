#include "kernels/cpu/update.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "base/error.h"
#include "kernels/cpu/apply_rule.h"

namespace mirrortrain::cpu {
namespace {

/// gradient[i] = sum of scale * source[begin + i], in the order of the sources.
void sum_chunk(std::span<const GradientSource> sources, std::int64_t begin, std::int64_t count,
               float* __restrict gradient) {
  std::fill_n(gradient, count, 0.0f);
  for (const GradientSource& source : sources) {
    if (source.scale == 0) continue;  // a replica without examples: its memory holds another step's gradient
    const float* __restrict elements = source.elements + begin;
    const float scale = source.scale;
    for (std::int64_t i = 0; i < count; ++i) gradient[i] += scale * elements[i];
  }
}

struct Overlap {
  std::int64_t begin, end;
};

Overlap overlap(const RegularizedSegment& segment, std::int64_t begin, std::int64_t end) {
  return {std::max(segment.begin, begin), std::min(segment.end, end)};
}

/// Adds `times` the regularization's gradient to that of the elements [begin, end): l1 sign(w) + 2 l2 w.
void add_regularization(const UpdateGroupView& group, float times, std::int64_t begin, std::int64_t end,
                        float* gradient) {
  for (const RegularizedSegment& segment : group.regularized) {
    const auto [from, to] = overlap(segment, begin, end);
    for (std::int64_t i = from; i < to; ++i) {
      gradient[i - begin] += times * scalar::regularization_slope(group.master[i], segment.l1, segment.l2);
    }
  }
}

/// With sixteen partial sums, so that it can be vectorized.
double sum_of_squares(const float* __restrict elements, std::int64_t count) {
  constexpr int kSums = 16;
  double sums[kSums] = {};
  std::int64_t i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (int k = 0; k < kSums; ++k) sums[k] += static_cast<double>(elements[i + k]) * elements[i + k];
  }
  double total = 0;
  for (; i < count; ++i) total += static_cast<double>(elements[i]) * elements[i];
  for (const double sum : sums) total += sum;
  return total;
}

double chunk_regularization(const UpdateGroupView& group, std::int64_t begin, std::int64_t end) {
  double total = 0;
  for (const RegularizedSegment& segment : group.regularized) {
    const auto [from, to] = overlap(segment, begin, end);
    double absolute = 0, square = 0;
    for (std::int64_t i = from; i < to; ++i) {
      const double w = group.master[i];
      absolute += std::abs(w);
      square += w * w;
    }
    total += segment.l1 * absolute + segment.l2 * square;
  }
  return total;
}

/// Computes the step's gradient of one chunk, regularization included, and the chunk's regularization sum.
void chunk_gradient(const UpdateGroupView& group, const GradientSum& sum, std::int64_t begin, std::int64_t end,
                    float* gradient) {
  sum_chunk(sum.sources, begin, end - begin, gradient);
  if (group.regularized.empty()) return;
  group.regularization[begin / kUpdateChunk] = chunk_regularization(group, begin, end);
  add_regularization(group, sum.regularization, begin, end, gradient);
}

/// Calls work(begin, end) for each chunk of the elements.
template <class Work>
void for_each_chunk(std::int64_t begin, std::int64_t end, const Work& work) {
  for (std::int64_t chunk = begin; chunk < end; chunk += kUpdateChunk) work(chunk, std::min(end, chunk + kUpdateChunk));
}

/// Applies the rule to the gradient that `fill(begin, end, gradient)` writes for each chunk.
template <class Fill>
void update_chunks(const UpdateRule& rule, const UpdateGroupView& group, const StepParams& params, std::int64_t begin,
                   std::int64_t end, const Fill& fill) {
  with_functor(rule, [&]<class Rule>(const Rule& functor) {
    if constexpr (scalar::kScalesByNorms<Rule>) {
      throw Error("a rule that scales by norms updates with accumulated gradients alone");
    } else {
      const scalar::RuleAtStep<Rule> at_this_step(functor, group.traits, params);
      alignas(64) float gradient[kUpdateChunk];
      for_each_chunk(begin, end, [&](std::int64_t from, std::int64_t to) {
        fill(from, to, gradient);
        scale_and_clip(at_this_step, to - from, gradient);
        apply_rule(at_this_step, group, from, to - from, gradient);
      });
    }
  });
}

/// Calls work(segment, from, until) for the group's variables in [begin, end).
template <class Work>
void for_each_normed(const UpdateGroupView& group, std::int64_t begin, std::int64_t end, const Work& work) {
  for (const scalar::NormedSegment& segment : group.normed) {
    const std::int64_t from = std::max(begin, segment.begin), until = std::min(end, segment.end);
    if (from < until) work(segment, from, until);
  }
}

/// Updates each variable along the direction from `measure`, scaled by the ratio of the norms.
template <class Rule>
void apply_measured(const scalar::RuleAtStep<Rule>& at, const UpdateGroupView& group, std::int64_t begin,
                    std::int64_t end) {
  for_each_normed(group, begin, end, [&](const scalar::NormedSegment& segment, std::int64_t from, std::int64_t until) {
    scalar::NormSums total;
    for (std::int64_t i = 0; i < segment.sums(); ++i) {
      total.weights += group.norms[segment.first_sum + i].weights;
      total.direction += group.norms[segment.first_sum + i].direction;
    }
    const float step = at.rule.rate * total.ratio();
    for (std::int64_t i = from; i < until; ++i) group.master[i] -= step * group.accumulated[i];
    if (group.average != nullptr) average(at, until - from, group.master + from, group.average + from);
  });
}

}  // namespace

void update(const UpdateRule& rule, const UpdateGroupView& group, const GradientSum& gradient, const StepParams& params,
            std::int64_t begin, std::int64_t end) {
  update_chunks(rule, group, params, begin, end, [&](std::int64_t from, std::int64_t to, float* chunk) {
    chunk_gradient(group, gradient, from, to, chunk);
  });
}

void accumulate(const UpdateGroupView& group, const GradientSum& gradient, bool first, std::int64_t begin,
                std::int64_t end) {
  alignas(64) float chunk[kUpdateChunk];
  for_each_chunk(begin, end, [&](std::int64_t from, std::int64_t to) {
    chunk_gradient(group, gradient, from, to, chunk);
    float* __restrict accumulated = group.accumulated + from;
    if (first) std::fill_n(accumulated, to - from, 0.0f);
    for (std::int64_t i = 0; i < to - from; ++i) accumulated[i] += chunk[i];
    if (group.squares != nullptr) group.squares[from / kUpdateChunk] = sum_of_squares(accumulated, to - from);
  });
}

void measure(const UpdateRule& rule, const UpdateGroupView& group, const StepParams& params, std::int64_t begin,
             std::int64_t end) {
  with_functor(rule, [&]<class Rule>(const Rule& functor) {
    if constexpr (scalar::kScalesByNorms<Rule>) {
      const scalar::RuleAtStep<Rule> at(functor, group.traits, params);
      for_each_chunk(begin, end, [&](std::int64_t from, std::int64_t to) {
        float* const directions = group.accumulated + from;
        scale_and_clip(at, to - from, directions);
        decay(at.kept, to - from, group.master + from);
        for (std::int64_t i = 0; i < to - from; ++i) {
          float slots[scalar::kSlotsOf<Rule>];
          for (std::size_t s = 0; s < std::size(slots); ++s) slots[s] = group.slots[s][from + i];
          directions[i] = at.rule.direction(directions[i], slots);
          for (std::size_t s = 0; s < std::size(slots); ++s) group.slots[s][from + i] = slots[s];
        }
        for_each_normed(group, from, to, [&](const scalar::NormedSegment& segment, std::int64_t a, std::int64_t b) {
          group.norms[segment.sum_of_chunk(a)] = {sum_of_squares(group.master + a, b - a),
                                                  sum_of_squares(group.accumulated + a, b - a)};
        });
      });
    }
  });
}

void update_accumulated(const UpdateRule& rule, const UpdateGroupView& group, const StepParams& params,
                        std::int64_t begin, std::int64_t end) {
  if (scalar::scales_by_norms(rule)) {
    return with_functor(rule, [&]<class Rule>(const Rule& functor) {
      if constexpr (scalar::kScalesByNorms<Rule>) {
        apply_measured(scalar::RuleAtStep<Rule>(functor, group.traits, params), group, begin, end);
      }
    });
  }
  update_chunks(rule, group, params, begin, end, [&](std::int64_t from, std::int64_t to, float* chunk) {
    std::copy_n(group.accumulated + from, to - from, chunk);
  });
}

void bound_weights(const scalar::WeightBounds& norms, float* weights, std::int64_t begin, std::int64_t end) {
  if (norms.bound.non_negative) {
    for (std::int64_t i = begin; i < end; ++i) {
      float& weight = weights[norms.kept.offset(i)];
      weight = scalar::without_sign(weight);
    }
    return;
  }
  constexpr std::int64_t kTogether = 64;  // neighbours, whose weights are mostly adjacent
  std::array<std::int64_t, kTogether> offsets;
  std::array<double, kTogether> squares;
  std::array<float, kTogether> factors;
  const std::int64_t terms = norms.reduced.count();
  for (; begin < end; begin += kTogether) {
    const auto count = static_cast<std::size_t>(std::min(kTogether, end - begin));
    for (std::size_t i = 0; i < count; ++i) offsets[i] = norms.kept.offset(begin + static_cast<std::int64_t>(i));
    squares.fill(0);
    for (std::int64_t term = 0; term < terms; ++term) {
      const float* const row = weights + norms.reduced.offset(term);
      for (std::size_t i = 0; i < count; ++i) squares[i] += static_cast<double>(row[offsets[i]]) * row[offsets[i]];
    }
    for (std::size_t i = 0; i < count; ++i) factors[i] = scalar::norm_factor(squares[i], norms.bound);
    for (std::int64_t term = 0; term < terms; ++term) {
      float* const row = weights + norms.reduced.offset(term);
      for (std::size_t i = 0; i < count; ++i) row[offsets[i]] *= factors[i];
    }
  }
}

void sum_sources(std::span<const GradientSource> sources, float* to, std::int64_t begin, std::int64_t end) {
  alignas(64) float chunk[kUpdateChunk];
  for_each_chunk(begin, end, [&](std::int64_t from, std::int64_t until) {
    sum_chunk(sources, from, until - from, chunk);
    std::copy_n(chunk, until - from, to + from);
  });
}

void compress(const float* gradient, float* residual, bfloat16* to, std::int64_t count) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) to[i] = scalar::compressed(gradient[i], residual[i]);
}

void add_compressed(const scalar::CompressedSum& sum) {
  alignas(64) float total[kUpdateChunk];
  for_each_chunk(0, sum.count, [&](std::int64_t from, std::int64_t until) {
    const std::int64_t count = until - from;
    std::fill_n(total, count, 0.0f);
    for (int rank = 0; rank < sum.ranks; ++rank) {
      const bfloat16* const terms = sum.terms + rank * sum.shard + from;
      for (std::int64_t i = 0; i < count; ++i) total[i] += static_cast<float>(terms[i]);
    }
    bfloat16* const to = sum.to + from;
    float* const residual = sum.residual + from;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i) to[i] = scalar::sent(total[i], residual[i]);
  });
}

void add_shards(const scalar::ShardSum& sum) {
  for_each_chunk(0, sum.count, [&](std::int64_t from, std::int64_t until) {
    float* const to = sum.to + from;
    std::copy_n(sum.terms + from, until - from, to);
    for (int rank = 1; rank < sum.ranks; ++rank) {
      const float* const terms = sum.terms + rank * sum.count + from;
#pragma GCC ivdep
      for (std::int64_t i = 0; i < until - from; ++i) to[i] += terms[i];
    }
  });
}

void expand(const scalar::Expansion& expansion) {
  const auto [from, to, count] = expansion;
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

void regularization_sums(const UpdateGroupView& group, std::int64_t begin, std::int64_t end) {
  if (group.regularized.empty()) return;
  for_each_chunk(begin, end, [&](std::int64_t from, std::int64_t to) {
    group.regularization[from / kUpdateChunk] = chunk_regularization(group, from, to);
  });
}

}  // namespace mirrortrain::cpu
