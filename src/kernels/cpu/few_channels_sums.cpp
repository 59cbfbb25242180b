#include <array>
#include <utility>

#include "kernels/cpu/few_channels_images.h"
#include "kernels/cpu/simd.h"

namespace mirrortrain::cpu::few_channels {
namespace {

// Maximum taps whose sums fit in the registers, by the number of filter vectors per tap.
constexpr int kMaxTaps = kLanes == 16 ? 12 : 5;
constexpr int kMaxVectors = 2;

/// kTaps taps by kVectors vectors of filters over all outputs of an image; the last vector may be short. `biases`,
/// if not null, receives the sum of dy.
template <int kTaps, int kVectors, class Last>
void add_taps(const PaddedImages& g, const float* image, const std::int64_t* taps, const float* dy, const Last& last,
              float* sums, float* biases) {
  const std::int64_t sums_stride = round_up(g.filters, 16);
  Vec sum[kTaps][kVectors], bias[kVectors] = {};
  const float* first[kTaps];
#pragma GCC unroll 12
  for (int tap = 0; tap < kTaps; ++tap) {
    first[tap] = image + taps[tap];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sum[tap][v] = load(sums + tap * sums_stride + v * kLanes);
  }
  for (std::int64_t row = 0; row < g.out_height; ++row) {
    std::int64_t pixel = row * g.row_step;
    for (std::int64_t column = 0; column < g.out_width; ++column, pixel += g.column_step, dy += g.filters) {
      Vec value[kVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v)
        value[v] = v + 1 < kVectors ? load(dy + v * kLanes) : last.load(dy + v * kLanes);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) bias[v] += value[v];
#pragma GCC unroll 12
      for (int tap = 0; tap < kTaps; ++tap) {
        const Vec scalar = broadcast(first[tap][pixel]);
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) sum[tap][v] += scalar * value[v];
      }
    }
  }
#pragma GCC unroll 12
  for (int tap = 0; tap < kTaps; ++tap) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) store(sums + tap * sums_stride + v * kLanes, sum[tap][v]);
  }
  for (int v = 0; v < kVectors && biases; ++v) store(biases + v * kLanes, load(biases + v * kLanes) + bias[v]);
}

template <class Last>
using AddTaps = void (*)(const PaddedImages&, const float*, const std::int64_t*, const float*, const Last&, float*,
                         float*);

template <int kVectors, class Last, int... kTaps>
constexpr std::array<AddTaps<Last>, kMaxTaps> by_taps(std::integer_sequence<int, kTaps...>) {
  return {&add_taps<kTaps + 1, kVectors, Last>...};
}

/// kAddTaps[taps - 1]
template <int kVectors, class Last>
constexpr auto kAddTaps = by_taps<kVectors, Last>(std::make_integer_sequence<int, kMaxTaps>{});

template <int kVectors, class Last>
void add_all_taps(const PaddedImages& g, const float* image, const float* dy, const Last& last, float* sums) {
  const auto steps = static_cast<std::int64_t>(g.taps.size()), stride = round_up(g.filters, 16);
  const std::int64_t blocks = (steps + kMaxTaps - 1) / kMaxTaps;
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::int64_t begin = steps * block / blocks, count = steps * (block + 1) / blocks - begin;
    kAddTaps<kVectors, Last>[static_cast<std::size_t>(count - 1)](
        g, image, g.taps.data() + begin, dy, last, sums + begin * stride, block == 0 ? sums + steps * stride : nullptr);
  }
}

}  // namespace

void add_image(const PaddedImages& g, const float* image, const float* dy, float* sums) {
  std::int64_t filter = 0;
  for (; filter + kMaxVectors * kLanes <= g.filters; filter += kMaxVectors * kLanes) {
    add_all_taps<kMaxVectors>(g, image, dy + filter, Whole{}, sums + filter);
  }
  for (; filter + kLanes <= g.filters; filter += kLanes) add_all_taps<1>(g, image, dy + filter, Whole{}, sums + filter);
  if (filter < g.filters) add_all_taps<1>(g, image, dy + filter, First{g.filters - filter}, sums + filter);
}

}  // namespace mirrortrain::cpu::few_channels
