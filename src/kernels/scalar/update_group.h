#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/bfloat16.h"
#include "kernels/scalar/step_params.h"
#include "kernels/scalar/update_rules.h"

// What an update works on, the same for every backend; the memory is the device's.
namespace mirrortrain::scalar {

/// A group's shards and its sums are cut in chunks of so many elements, so that no sum depends on who computes it.
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
  float* accumulated = nullptr;      ///< gradients of the steps since the last update; null where each step updates
  double* regularization = nullptr;  ///< one sum per chunk, of the weights before the update
  double* squares = nullptr;         ///< one sum per chunk, of the accumulated gradients squared; may be null
  bfloat16* rounded = nullptr;       ///< a copy of the master that updates on a GPU refresh; may be null
};

/// A step's gradient of a group: the sources, added in their order, and so many times the regularization's gradient.
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
