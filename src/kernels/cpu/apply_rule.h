#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/cpu/update.h"

/// What every update does with a gradient once it is there.
namespace mirrortrain::cpu {

inline void scale_and_clip(const StepParams& params, std::int64_t count, float* __restrict gradient) {
  if (params.scale != 1) {
    for (std::int64_t i = 0; i < count; ++i) gradient[i] *= params.scale;
  }
  const float limit = params.clip_value;
  if (limit < std::numeric_limits<float>::infinity()) {
    for (std::int64_t i = 0; i < count; ++i) gradient[i] = std::min(std::max(gradient[i], -limit), limit);
  }
}

/// Applies the rule to `count` weights, which are a copy of the group's elements from `begin` on or these themselves,
/// and to their slots.
template <class Rule>
void apply_rule(const Rule& rule, const UpdateGroupView& group, std::int64_t begin, std::int64_t count,
                const float* __restrict gradient, float* __restrict weights) {
  if constexpr (Rule::kSlots == 0) {
    for (std::int64_t i = 0; i < count; ++i) rule(weights[i], gradient[i], nullptr);
  } else if constexpr (Rule::kSlots == 1) {
    float* __restrict slot = group.slots[0] + begin;
    for (std::int64_t i = 0; i < count; ++i) rule(weights[i], gradient[i], slot + i);
  } else {
    float* __restrict first = group.slots[0] + begin;
    float* __restrict second = group.slots[1] + begin;
    for (std::int64_t i = 0; i < count; ++i) {
      float slots[2] = {first[i], second[i]};
      rule(weights[i], gradient[i], slots);
      first[i] = slots[0];
      second[i] = slots[1];
    }
  }
}

/// Applies the rule to the elements [begin, begin + count) of the group.
template <class Rule>
void apply_rule(const Rule& rule, const UpdateGroupView& group, std::int64_t begin, std::int64_t count,
                const float* __restrict gradient) {
  apply_rule(rule, group, begin, count, gradient, group.master + begin);
}

}  // namespace mirrortrain::cpu
