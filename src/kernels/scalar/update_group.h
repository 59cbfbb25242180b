#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <span>

#include "base/bfloat16.h"
#include "kernels/scalar/step_params.h"
#include "kernels/scalar/update_rules.h"
#include "kernels/scalar/update_traits.h"

// The operands of an update, the same for every backend, in device memory.
namespace mirrortrain::scalar {

/// A group's shards and its sums are divided into chunks of this many elements, so that no sum depends on which thread
/// or rank computes it.
inline constexpr std::int64_t kUpdateChunk = 2048;

/// Elements [begin, end) of a group whose weights add l1 sum|w| + l2 sum(w^2) to the loss.
struct RegularizedSegment {
  std::int64_t begin = 0, end = 0;
  float l1 = 0, l2 = 0;
};

/// A variable in a group, for a rule that scales by norms: elements [begin, end). Its sums of squares, one of the
/// weights and one of the direction for each chunk that it touches, are the group's from number `first_sum` on.
struct NormedSegment {
  std::int64_t begin = 0, end = 0, first_sum = 0;

  MIRRORTRAIN_HOST_DEVICE std::int64_t sum_of_chunk(std::int64_t element) const {
    return first_sum + element / kUpdateChunk - begin / kUpdateChunk;
  }
  MIRRORTRAIN_HOST_DEVICE std::int64_t sums() const { return end == begin ? 0 : sum_of_chunk(end - 1) - first_sum + 1; }
};

/// The sums of squares of weights and direction.
struct NormSums {
  double weights = 0, direction = 0;

  /// The scale of a step along the direction.
  MIRRORTRAIN_HOST_DEVICE float ratio() const {
    return weights > 0 && direction > 0 ? static_cast<float>(std::sqrt(weights) / std::sqrt(direction)) : 1.0f;
  }
};

/// One replica's gradient of a group and its scale in the sum.
struct GradientSource {
  const float* elements = nullptr;
  float scale = 1;
};

/// A group's memory: all arrays are flat and in the same order.
struct UpdateGroupView {
  std::span<const RegularizedSegment> regularized;
  UpdateTraits traits;
  float* master = nullptr;
  std::array<float*, kMaxSlots> slots{};
  float* accumulated = nullptr;      ///< gradients of the steps since the last update; null where each step updates
  double* regularization = nullptr;  ///< one sum per chunk, of the weights before the update
  float* average = nullptr;          ///< of the weights; null where the traits have none
  std::span<const NormedSegment> normed;  ///< where the rule scales by norms, in ascending order, with
  NormSums* norms = nullptr;              ///< their sums, and
  float* ratios = nullptr;                ///< room for the ratio of each
  double* squares = nullptr;              ///< one sum per chunk, of the accumulated gradients squared; may be null
  bfloat16* rounded = nullptr;            ///< a copy of the master that updates on a GPU refresh; may be null
};

/// A rule with the optimizer's other options, at one step for one group.
template <class Rule>
struct RuleAtStep {
  Rule rule;
  float kept = 1;  ///< the factor by which weight decay scales a weight
  float average_momentum = 0;
  bool overwrites = false;          ///< weights with their average
  float scale = 1, clip_value = 0;  ///< of gradients, see StepParams

  /// `at`: that of the rule. The average of the first update is the weights.
  MIRRORTRAIN_HOST_DEVICE RuleAtStep(const Rule& of, const UpdateTraits& traits, const StepParams& params)
      : rule(of.at(params.learning_rates[traits.optimizer] * traits.rate_factor, static_cast<long>(params.updates))),
        kept(1.0f - traits.weight_decay * params.learning_rates[traits.optimizer] * traits.rate_factor),
        average_momentum(params.updates > 1 ? traits.average_momentum : 0.0f),
        overwrites(traits.overwrite_every > 0 && params.updates % traits.overwrite_every == 0),
        scale(traits.is_scaled ? 1.0f : params.scale),
        clip_value(traits.is_scaled ? StepParams().clip_value : params.clip_value) {
    if constexpr (requires { rule.kept; }) rule.kept = kept, kept = 1.0f;  // it decays the weights itself
  }

  MIRRORTRAIN_HOST_DEVICE float averaged(float average, float w) const {
    return average_momentum * average + (1.0f - average_momentum) * w;
  }
};

/// A rank's shard of a sum over the ranks, computed from the part that each rank sent.
struct ShardSum {
  const float* terms = nullptr;  ///< a shard for each rank, in their order
  int ranks = 1;
  std::int64_t count = 0;  ///< elements of a shard
  float* to = nullptr;

  MIRRORTRAIN_HOST_DEVICE void add(std::int64_t i) const {
    float sum = 0;
    for (int rank = 0; rank < ranks; ++rank) sum += terms[rank * count + i];
    to[i] = sum;
  }
};

/// A step's gradient of a group: the sources, added in their order, and a multiple of the regularization's gradient.
struct GradientSum {
  std::span<const GradientSource> sources;
  float regularization = 1;
};

/// The regularization's gradient for a weight.
MIRRORTRAIN_HOST_DEVICE inline float regularization_slope(float w, float l1, float l2) {
  const float sign = w > 0 ? 1.0f : (w < 0 ? -1.0f : 0.0f);
  return l1 * sign + 2 * l2 * w;
}

}  // namespace mirrortrain::scalar
