#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/error.h"
#include "kernels/cpu/update.h"

/// Applying an update rule to a gradient.
namespace mirrortrain::cpu {

template <class Rule>
void scale_and_clip(const scalar::RuleAtStep<Rule>& at, std::int64_t count, float* __restrict gradient) {
  if (at.scale != 1) {
    for (std::int64_t i = 0; i < count; ++i) gradient[i] *= at.scale;
  }
  const float limit = at.clip_value;
  if (limit < std::numeric_limits<float>::infinity()) {
    for (std::int64_t i = 0; i < count; ++i) gradient[i] = std::min(std::max(gradient[i], -limit), limit);
  }
}

inline void decay(float kept, std::int64_t count, float* __restrict weights) {
  if (kept == 1) return;
  for (std::int64_t i = 0; i < count; ++i) weights[i] *= kept;
}

template <class Rule>
void average(const scalar::RuleAtStep<Rule>& at, std::int64_t count, float* __restrict weights,
             float* __restrict averages) {
  for (std::int64_t i = 0; i < count; ++i) averages[i] = at.averaged(averages[i], weights[i]);
  if (at.overwrites) std::copy_n(averages, count, weights);
}

/// Calls function(the rule at its step), for updates that make a gradient piece by piece. Throws Error for a rule that
/// reads whole variables.
template <class Function>
void with_rule_at_step(const UpdateRule& rule, const UpdateGroupView& group, const StepParams& params,
                       const Function& function) {
  with_functor(rule, [&]<class Rule>(const Rule& functor) {
    if constexpr (scalar::kReadsWholes<Rule>) {
      throw Error("a rule that reads whole variables updates with gradients that were stored");
    } else {
      function(scalar::RuleAtStep<Rule>(functor, group.traits, params));
    }
  });
}

/// Applies the rule to `count` weights and their slots, in separate arrays.
template <class Rule, class... Slots>
void apply_rule(const Rule& rule, std::int64_t count, const float* __restrict gradient, float* __restrict weights,
                Slots* __restrict... slots) {
  for (std::int64_t i = 0; i < count; ++i) {
    float of_weight[sizeof...(Slots) + 1] = {slots[i]...};
    rule(weights[i], gradient[i], of_weight);
    [[maybe_unused]] const float* next = of_weight;
    ((slots[i] = *next++), ...);
  }
}

/// Applies a rule at its step, with the weights' decay and average, to `count` weights, which are the group's elements
/// from `begin` on or a copy of them, and to their slots.
template <class Rule>
void apply_rule(const scalar::RuleAtStep<Rule>& at, const UpdateGroupView& group, std::int64_t begin,
                std::int64_t count, const float* __restrict gradient, float* __restrict weights) {
  decay(at.kept, count, weights);
  [&]<std::size_t... S>(std::index_sequence<S...>) {
    apply_rule(at.rule, count, gradient, weights, (group.slots[S] + begin)...);
  }
  (std::make_index_sequence<scalar::kSlotsOf<Rule>>());
  if (group.average != nullptr) average(at, count, weights, group.average + begin);
}

/// Applies the rule to the elements [begin, begin + count) of the group.
template <class Rule>
void apply_rule(const scalar::RuleAtStep<Rule>& at, const UpdateGroupView& group, std::int64_t begin,
                std::int64_t count, const float* __restrict gradient) {
  apply_rule(at, group, begin, count, gradient, group.master + begin);
}

}  // namespace mirrortrain::cpu
