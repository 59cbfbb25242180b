#pragma once

#include "kernels/cuda/pack.h"
#include "kernels/cuda/position_sums.h"
#include "kernels/scalar/losses.h"
#include "kernels/scalar/metrics.h"

// Sparse categorical crossentropy of rows of logits that a block shares, as those over the tokens of a language model:
// one pass over a row for the largest logit, the sum of the exponentials and the class that is predicted, and another
// for the gradient.
namespace mirrortrain::cuda {

/// A row of which each thread takes packs. Rows of an odd number of elements begin anywhere: the elements before the
/// first aligned one and behind the last whole pack are taken one by one.
template <class T>
struct PackedRow {
  static constexpr int kPack = kPackOf<T>;
  std::int64_t head, packs, count;

  __device__ PackedRow(const T* row, std::int64_t elements) : count(elements) {
    const auto beyond = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(row) / sizeof(T) % kPack);
    head = (kPack - beyond) % kPack;
    head = head < count ? head : count;
    packs = (count - head) / kPack;
  }
  /// body(std::integral_constant<int, N>, first) for N elements from `first` on: packs, then single ones.
  template <class Body>
  __device__ void each(const Body& body) const {
    for (std::int64_t i = threadIdx.x; i < packs; i += blockDim.x) {
      body(std::integral_constant<int, kPack>{}, head + i * kPack);
    }
    const std::int64_t behind = head + packs * kPack, singles = head + count - behind;
    for (std::int64_t i = threadIdx.x; i < singles; i += blockDim.x) {
      body(std::integral_constant<int, 1>{}, i < head ? i : behind + i - head);
    }
  }
};

/// What softmax needs of a row, and its first largest element.
struct SoftRow {
  float largest = -INFINITY, sum = 0;
  std::int32_t first = INT32_MAX;
  bool is_known = false;  ///< a pass has been made
};

/// By a whole block; every thread gets the result. NaN is ignored for the largest and makes the sum NaN.
template <class T>
__device__ inline SoftRow soft_row(const T* row, std::int64_t classes) {
  SoftRow own;
  PackedRow<T>(row, classes).each([&]<int kCount>(std::integral_constant<int, kCount>, std::int64_t at) {
    float value[kCount], most = own.largest;
    load(value, row + at, kCount, true);
#pragma unroll
    for (int i = 0; i < kCount; ++i) most = value[i] > most ? value[i] : most;
    if (most > own.largest) {
      own.sum *= scalar::exp(own.largest - most);
      own.largest = most;
      own.first = INT32_MAX;
    }
    // Before anything larger, minus infinity adds nothing.
    const float base = own.largest == -INFINITY ? 0.0f : own.largest;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const auto index = static_cast<std::int32_t>(at + i);
      if (value[i] == own.largest && index < own.first) own.first = index;
      own.sum += scalar::exp(value[i] - base);
    }
  });
  const WholeBlock team;
  SoftRow all;
  all.largest = team_max(team, own.largest);
  all.sum = team_sum(team, own.largest == all.largest ? own.sum : own.sum * scalar::exp(own.largest - all.largest));
  all.first = team.reduce(own.largest == all.largest ? own.first : INT32_MAX, INT32_MAX,
                          [](std::int32_t a, std::int32_t b) { return a < b ? a : b; });
  if (all.largest == -INFINITY) all.sum = NAN;  // as 0 / 0, where nothing is larger than it
  all.is_known = true;
  return all;
}

/// As scalar::SparseOfLogits, which other teams than a block take. `found`: where to leave what the pass found, or
/// null.
struct WideSparseOfLogits {
  using Target = std::int32_t;
  static constexpr bool kTargetPerClass = false;
  SoftRow* found = nullptr;

  template <class Row, class T>
  __device__ double operator()(Row row, const T* y, const std::int32_t* label, T* dy, std::int64_t classes,
                               float scale) const {
    if constexpr (!std::is_same_v<decltype(row.team), WholeBlock>) {
      return scalar::SparseOfLogits{}(row, y, label, dy, classes, scale);
    } else {
      const SoftRow soft = soft_row(y, classes);
      if (found != nullptr) *found = soft;
      if (dy != nullptr) {
        const float share = scale / soft.sum;
        const bool together = (reinterpret_cast<std::uintptr_t>(y) ^ reinterpret_cast<std::uintptr_t>(dy)) % 16 == 0;
        PackedRow<T>(y, classes).each([&]<int kCount>(std::integral_constant<int, kCount>, std::int64_t at) {
          float value[kCount];
          load(value, y + at, kCount, true);
#pragma unroll
          for (int i = 0; i < kCount; ++i) {
            value[i] = scalar::exp(value[i] - soft.largest) * share;
            if (at + i == *label) value[i] -= scale;
          }
          store(dy + at, value, kCount, together);
        });
      }
      if (*label < 0 || *label >= classes) return NAN;
      return static_cast<double>(scalar::log(soft.sum)) +
             (static_cast<double>(soft.largest) - static_cast<double>(static_cast<float>(y[*label])));
    }
  }
};

/// The loss and how often the label is predicted; the loss's pass serves both.
template <class T>
struct WideLossAndAccuracy {
  static constexpr int kCount = 2;
  scalar::LossOfPosition<WideSparseOfLogits, T> loss;
  scalar::MetricOfPosition<scalar::IsLabel, T> metric;

  template <class Team>
  __device__ void operator()(Team team, std::int64_t i, double (&values)[kCount]) const {
    SoftRow found;
    auto own = loss;
    own.loss.found = &found;
    values[0] = own(Row<Team>{team}, i);
    if (!found.is_known) {
      values[1] = metric(Row<Team>{team}, i);
      return;
    }
    const auto front = static_cast<float>(loss.y[i * loss.shape.stride]);
    const std::int32_t predicted = front == front ? found.first : 0;
    values[1] = metric.mask.counts(i) && predicted == metric.t[i] ? 1.0 : 0.0;
  }
};

}  // namespace mirrortrain::cuda
