#include "kernels/cpu/micro_gemm.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/cpu/simd.h"

namespace mirrortrain::cpu {
namespace {

// Sums that the registers hold, beside a row of b and an element of a: 24 of AVX-512's 32 registers, 12 of 16
// elsewhere.
constexpr int kSums = kLanes == 16 ? 24 : 12;
constexpr int kPanelVectors = kLanes == 16 ? 4 : 2;
constexpr int kMaxRows = 12;
constexpr int max_rows(int vectors) { return std::min(kMaxRows, kSums / vectors); }

/// kR rows by kW vectors of c.
template <int kR, int kW>
void tile(std::int64_t steps, const Scalars& a, const ConstRows& b, const Rows& c, bool accumulate) {
  Vec sum[kR][kW];
  for (int r = 0; r < kR; ++r) {
    for (int w = 0; w < kW; ++w) sum[r][w] = accumulate ? load(c.data + r * c.stride + w * kLanes) : Vec{};
  }
  const float* a_step = a.data;
  const float* b_step = b.data;
  for (std::int64_t step = 0; step < steps; ++step, a_step += a.step_stride, b_step += b.stride) {
    Vec row[kW];
#pragma GCC unroll 4
    for (int w = 0; w < kW; ++w) row[w] = load(b_step + w * kLanes);
#pragma GCC unroll 12
    for (int r = 0; r < kR; ++r) {
      const Vec scalar = broadcast(a_step[r * a.row_stride]);
#pragma GCC unroll 4
      for (int w = 0; w < kW; ++w) sum[r][w] += scalar * row[w];
    }
  }
  for (int r = 0; r < kR; ++r) {
    for (int w = 0; w < kW; ++w) store(c.data + r * c.stride + w * kLanes, sum[r][w]);
  }
}

using Tile = void (*)(std::int64_t, const Scalars&, const ConstRows&, const Rows&, bool);

template <int kW, int... kR>
constexpr std::array<Tile, kMaxRows> tiles_of(std::integer_sequence<int, kR...>) {
  return {(kR < max_rows(kW) ? &tile<std::min(kR + 1, max_rows(kW)), kW> : nullptr)...};
}

template <int... kW>
constexpr auto all_tiles(std::integer_sequence<int, kW...>) {
  return std::array{tiles_of<kW + 1>(std::make_integer_sequence<int, kMaxRows>{})...};
}

/// kTiles[vectors - 1][rows - 1]
constexpr auto kTiles = all_tiles(std::make_integer_sequence<int, kPanelVectors>{});

}  // namespace

std::int64_t panel_columns() { return kPanelVectors * kLanes; }

void multiply(std::int64_t rows, std::int64_t columns, std::int64_t steps, const Scalars& a, const ConstRows& b,
              const Rows& c, bool accumulate) {
  for (std::int64_t column = 0; column < columns; column += panel_columns()) {
    const auto vectors = static_cast<int>(std::min(columns - column, panel_columns()) / kLanes);
    const auto& tiles = kTiles[static_cast<std::size_t>(vectors - 1)];
    // Even blocks: a last block of one row would wait for its own sums.
    const std::int64_t most = max_rows(vectors), blocks = (rows + most - 1) / most;
    for (std::int64_t block = 0; block < blocks; ++block) {
      const std::int64_t begin = rows * block / blocks, count = rows * (block + 1) / blocks - begin;
      tiles[static_cast<std::size_t>(count - 1)](steps, {a.data + begin * a.row_stride, a.row_stride, a.step_stride},
                                                 {b.data + column, b.stride},
                                                 {c.data + begin * c.stride + column, c.stride}, accumulate);
    }
  }
}

}  // namespace mirrortrain::cpu
