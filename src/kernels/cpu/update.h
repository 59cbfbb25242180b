#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <variant>

#include "kernels/scalar/update_rules.h"

namespace mirrortrain::cpu {

/// Update rules that the CPU has kernels for.
using UpdateRule = std::variant<scalar::Sgd, scalar::SgdMomentum<false>, scalar::SgdMomentum<true>, scalar::Adam<false>,
                                scalar::Adam<true>>;

inline constexpr int kMaxSlots = 2;

/// A group's shards and regularization sums are cut in chunks of so many elements, so that no sum depends on who
/// computes it.
inline constexpr std::int64_t kUpdateChunk = 2048;

/// Elements [begin, end) of a group whose weights add l1 sum|w| + l2 sum(w^2) to the loss.
struct RegularizedSegment {
  std::int64_t begin = 0, end = 0;
  float l1 = 0, l2 = 0;
};

/// One replica's gradient of a group and the scale with which it enters the sum.
struct GradientSource {
  const float* elements = nullptr;
  float scale = 1;
};

/// A group's memory: everything flat and in the same order.
struct UpdateGroupView {
  std::span<const RegularizedSegment> regularized;
  float* master = nullptr;
  std::array<float*, kMaxSlots> slots{};
  double* regularization = nullptr;  ///< one sum per chunk, of the weights before the update
};

/// Sums the sources in their order, adds the regularization's gradient and applies the rule, on the elements [begin,
/// end): one pass over memory. `begin` is a multiple of kUpdateChunk. `updates` counts this one, from 1.
void update(const UpdateRule& rule, const UpdateGroupView& group, std::span<const GradientSource> sources,
            float learning_rate, std::int64_t updates, std::int64_t begin, std::int64_t end);

/// The regularization sums of the chunks of [begin, end), without an update.
void regularization_sums(const UpdateGroupView& group, std::int64_t begin, std::int64_t end);

}  // namespace mirrortrain::cpu
