#pragma once

#include <algorithm>
#include <utility>

#include "base/philox.h"
#include "kernels/cpu/simd_elements.h"

namespace mirrortrain::cpu {

typedef std::uint64_t WideVec __attribute__((vector_size(kLanes * sizeof(float))));

/// The lower and upper halves of the 64-bit products of each element with a number.
struct Product {
  WordVec low, high;

  Product(const WordVec& words, std::uint32_t factor) {
    const WideVec even = times(reinterpret_cast<WideVec>(words), factor);
    const WideVec odd = times(reinterpret_cast<WideVec>(words) >> 32, factor);
    constexpr std::uint64_t kLower = 0xffffffffu;
    low = reinterpret_cast<WordVec>((even & kLower) | (odd << 32));
    high = reinterpret_cast<WordVec>((even >> 32) | (odd & ~kLower));
  }

 private:
  /// Of the lower halves of 64-bit elements.
  static WideVec times(const WideVec& words, std::uint32_t factor) {
#if defined(__AVX512F__)
    return reinterpret_cast<WideVec>(_mm512_maskz_mul_epu32(0xff, reinterpret_cast<__m512i>(words),
                                                            _mm512_set1_epi64(static_cast<long long>(factor))));
#else
    return (words & 0xffffffffu) * factor;
#endif
  }
};

/// Philox at kLanes counters together: the words of the counters from `first` on, word by word.
struct WordVectors {
  WordVec c0, c1, c2, c3;

  WordVectors(Philox keys, std::uint32_t first, std::uint32_t row, std::uint32_t step, std::uint32_t stream)
      : c0(first + lane_numbers()), c1(row + WordVec{}), c2(step + WordVec{}), c3(stream + WordVec{}) {
    for (int round = 0; round < Philox::kRounds; ++round) {
      const Product product0(c0, Philox::kMultiplier0), product1(c2, Philox::kMultiplier1);
      c0 = product1.high ^ c1 ^ keys.key0;
      c2 = product0.high ^ c3 ^ keys.key1;
      c1 = product1.low;
      c3 = product0.low;
      keys.next_round();
    }
  }

  /// Elements use the words counter by counter: the words of the elements from kLanes * kQuarter on.
  template <int kQuarter, std::size_t... kLane>
  WordVec in_order(std::index_sequence<kLane...>) const {
    constexpr int kFirst = kQuarter * kLanes / 4;
    const WordVec words01 =
        __builtin_shufflevector(c0, c1, static_cast<int>(kFirst + kLane / 4 + kLane % 2 * kLanes)...);
    const WordVec words23 =
        __builtin_shufflevector(c2, c3, static_cast<int>(kFirst + kLane / 4 + kLane % 2 * kLanes)...);
    return __builtin_shufflevector(words01, words23, static_cast<int>(kLane + (kLane % 4 < 2 ? 0 : kLanes))...);
  }
  template <int kQuarter>
  WordVec in_order() const {
    return in_order<kQuarter>(std::make_index_sequence<kLanes>{});
  }
};

/// ops::Dropout for a row's elements.
struct RowDropout {
  float rate;
  std::uint32_t stream;
  Philox philox;
  std::uint32_t step;

  /// `x` and `y` begin with the row's element `begin`, a multiple of 4, and may be the same.
  template <class T>
  void operator()(const T* x, T* y, std::int64_t elements, std::uint32_t row, std::int64_t begin = 0) const {
    const float scale = 1.0f / (1.0f - rate);
    for (std::int64_t first = 0; first < elements; first += 4 * kLanes) {
      const WordVectors words(philox, static_cast<std::uint32_t>((begin + first) / 4), row, step, stream);
      const WordVec in_order[] = {words.in_order<0>(), words.in_order<1>(), words.in_order<2>(), words.in_order<3>()};
      each_vector(std::min<std::int64_t>(4 * kLanes, elements - first), [&](std::int64_t i, auto part) {
        const WordVec bits = in_order[i / kLanes] >> 8;
        const Vec uniform = __builtin_convertvector(reinterpret_cast<IntVec>(bits), Vec) * (1.0f / 16777216.0f);
        const Vec kept = get(x + first + i, part) * scale;
        put(y + first + i, uniform < rate ? Vec{} : kept, part);
      });
    }
  }
};

}  // namespace mirrortrain::cpu
