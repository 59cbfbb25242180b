#include "kernels/cpu/update.h"

#include <algorithm>
#include <cmath>

namespace mirrortrain::cpu {
namespace {

/// gradient[i] = sum of scale * source[begin + i], in the order of the sources.
void sum_sources(std::span<const GradientSource> sources, std::int64_t begin, std::int64_t count,
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

/// Adds the regularization's gradient to that of the elements [begin, end): l1 sign(w) + 2 l2 w.
void add_regularization(const UpdateGroupView& group, std::int64_t begin, std::int64_t end, float* gradient) {
  for (const RegularizedSegment& segment : group.regularized) {
    const auto [from, to] = overlap(segment, begin, end);
    for (std::int64_t i = from; i < to; ++i) {
      const float w = group.master[i];
      const float sign = w > 0 ? 1.0f : (w < 0 ? -1.0f : 0.0f);
      gradient[i - begin] += segment.l1 * sign + 2 * segment.l2 * w;
    }
  }
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

template <class Rule>
void apply(const Rule& rule, const UpdateGroupView& group, std::int64_t begin, std::int64_t count,
           const float* __restrict gradient) {
  float* __restrict master = group.master + begin;
  if constexpr (Rule::kSlots == 0) {
    for (std::int64_t i = 0; i < count; ++i) rule(master[i], gradient[i], nullptr);
  } else if constexpr (Rule::kSlots == 1) {
    float* __restrict slot = group.slots[0] + begin;
    for (std::int64_t i = 0; i < count; ++i) rule(master[i], gradient[i], slot + i);
  } else {
    float* __restrict first = group.slots[0] + begin;
    float* __restrict second = group.slots[1] + begin;
    for (std::int64_t i = 0; i < count; ++i) {
      float slots[2] = {first[i], second[i]};
      rule(master[i], gradient[i], slots);
      first[i] = slots[0];
      second[i] = slots[1];
    }
  }
}

}  // namespace

void update(const UpdateRule& rule, const UpdateGroupView& group, std::span<const GradientSource> sources,
            float learning_rate, std::int64_t updates, std::int64_t begin, std::int64_t end) {
  std::visit(
      [&](const auto& of_this_kind) {
        const auto at_this_step = of_this_kind.at(learning_rate, static_cast<long>(updates));
        alignas(64) float gradient[kUpdateChunk];
        for (std::int64_t chunk = begin; chunk < end; chunk += kUpdateChunk) {
          const std::int64_t stop = std::min(end, chunk + kUpdateChunk);
          sum_sources(sources, chunk, stop - chunk, gradient);
          if (!group.regularized.empty()) {
            group.regularization[chunk / kUpdateChunk] = chunk_regularization(group, chunk, stop);
            add_regularization(group, chunk, stop, gradient);
          }
          apply(at_this_step, group, chunk, stop - chunk, gradient);
        }
      },
      rule);
}

void regularization_sums(const UpdateGroupView& group, std::int64_t begin, std::int64_t end) {
  if (group.regularized.empty()) return;
  for (std::int64_t chunk = begin; chunk < end; chunk += kUpdateChunk) {
    group.regularization[chunk / kUpdateChunk] =
        chunk_regularization(group, chunk, std::min(end, chunk + kUpdateChunk));
  }
}

}  // namespace mirrortrain::cpu
