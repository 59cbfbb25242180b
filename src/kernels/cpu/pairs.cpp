#include "kernels/cpu/pairs.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/cpu/simd.h"

// The build's target level lacks the instruction, so these functions name their target, and multiplies_pairs checks for
// it.
#if defined(__x86_64__) && defined(__AVX512F__)
#define MIRRORTRAIN_PAIRS __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))
#endif

namespace mirrortrain::cpu {

#ifdef MIRRORTRAIN_PAIRS

namespace {

constexpr int kMostRows = 6, kMostVectors = 4;  // 24 sums, 4 vectors of b and one of a: 29 of 32 registers

template <int kR, int kW>
MIRRORTRAIN_PAIRS void pair_tile(std::int64_t pairs, const PairScalars& a, const PairColumns& b, const Rows& c,
                                 bool accumulate) {
  __m512 sum[kR][kW];
#pragma GCC unroll 6
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 4
    for (int w = 0; w < kW; ++w) {
      sum[r][w] = accumulate ? _mm512_loadu_ps(c.data + r * c.stride + w * kLanes) : _mm512_setzero_ps();
    }
  }
  const Pair* a_pair = a.data;
  const Pair* b_pair = b.data;
  for (std::int64_t p = 0; p < pairs; ++p, a_pair += a.pair_stride, b_pair += b.stride) {
    __m512bh row[kW];
#pragma GCC unroll 4
    for (int w = 0; w < kW; ++w) row[w] = (__m512bh)_mm512_loadu_si512(b_pair + w * kLanes);
#pragma GCC unroll 6
    for (int r = 0; r < kR; ++r) {
      const auto one = (__m512bh)_mm512_set1_epi32(static_cast<int>(a_pair[r * a.row_stride]));
#pragma GCC unroll 4
      for (int w = 0; w < kW; ++w) sum[r][w] = _mm512_dpbf16_ps(sum[r][w], one, row[w]);
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 4
    for (int w = 0; w < kW; ++w) _mm512_storeu_ps(c.data + r * c.stride + w * kLanes, sum[r][w]);
  }
}

using PairTile = void (*)(std::int64_t, const PairScalars&, const PairColumns&, const Rows&, bool);

template <int kW, int... kR>
constexpr std::array<PairTile, kMostRows> pair_tiles_of(std::integer_sequence<int, kR...>) {
  return {&pair_tile<kR + 1, kW>...};
}

template <int... kW>
constexpr auto all_pair_tiles(std::integer_sequence<int, kW...>) {
  return std::array{pair_tiles_of<kW + 1>(std::make_integer_sequence<int, kMostRows>{})...};
}

/// kPairTiles[vectors - 1][rows - 1]
constexpr auto kPairTiles = all_pair_tiles(std::make_integer_sequence<int, kMostVectors>{});

/// The pairs of 16 columns, from `kFirst` on, of two rows with 32.
template <int kFirst>
MIRRORTRAIN_PAIRS __m512i pairs_of(__m512i low, __m512i high) {
  static constexpr auto places = [] {
    std::array<std::uint16_t, 32> from{};  // 32 and more: of `high`
    for (unsigned i = 0; i < 32; ++i) from[i] = static_cast<std::uint16_t>(kFirst + i / 2 + (i % 2) * 32);
    return from;
  }();
  return _mm512_permutex2var_epi16(low, _mm512_loadu_si512(places.data()), high);
}

}  // namespace

bool multiplies_pairs() {
  static const bool does = __builtin_cpu_supports("avx512bf16") && !__builtin_cpu_supports("amx-bf16");
  return does;
}

MIRRORTRAIN_PAIRS void make_pairs(std::int64_t rows, std::int64_t columns, const bfloat16* from, std::int64_t stride,
                                  Pair* to, std::int64_t to_stride) {
  for (std::int64_t row = 0; row < rows; row += 2, from += 2 * stride, to += to_stride) {
    const bool has_next = row + 1 < rows;
    for (std::int64_t column = 0; column < columns; column += 2 * kLanes) {
      const std::int64_t count = std::min<std::int64_t>(2 * kLanes, columns - column);
      const auto mask = static_cast<__mmask32>((std::uint64_t{1} << count) - 1);
      const __m512i low = _mm512_maskz_loadu_epi16(mask, from + column);
      const __m512i high = has_next ? _mm512_maskz_loadu_epi16(mask, from + stride + column) : _mm512_setzero_si512();
      _mm512_mask_storeu_epi32(to + column, static_cast<__mmask16>(mask), pairs_of<0>(low, high));
      _mm512_mask_storeu_epi32(to + column + kLanes, static_cast<__mmask16>(mask >> 16), pairs_of<kLanes>(low, high));
    }
  }
}

MIRRORTRAIN_PAIRS void round_to_bfloat16(std::int64_t count, const float* from, bfloat16* to) {
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const auto mask = static_cast<__mmask16>((1u << std::min<std::int64_t>(kLanes, count - i)) - 1u);
    const __m256bh rounded = _mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(mask, from + i));
    _mm256_mask_storeu_epi16(to + i, mask, (__m256i)rounded);
  }
}

void multiply_pairs(std::int64_t rows, std::int64_t columns, std::int64_t pairs, const PairScalars& a,
                    const PairColumns& b, const Rows& c, bool accumulate) {
  const auto& tiles = kPairTiles[static_cast<std::size_t>(columns / kLanes - 1)];
  const std::int64_t blocks = (rows + kMostRows - 1) / kMostRows;
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::int64_t begin = rows * block / blocks, count = rows * (block + 1) / blocks - begin;
    tiles[static_cast<std::size_t>(count - 1)](pairs, a.from_row(begin), b, {c.data + begin * c.stride, c.stride},
                                               accumulate);
  }
}

#else

bool multiplies_pairs() { return false; }
void make_pairs(std::int64_t, std::int64_t, const bfloat16*, std::int64_t, Pair*, std::int64_t) {}
void round_to_bfloat16(std::int64_t, const float*, bfloat16*) {}
void multiply_pairs(std::int64_t, std::int64_t, std::int64_t, const PairScalars&, const PairColumns&, const Rows&,
                    bool) {}

#endif

}  // namespace mirrortrain::cpu
