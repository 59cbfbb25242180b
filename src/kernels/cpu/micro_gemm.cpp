#include "kernels/cpu/micro_gemm.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/cpu/simd.h"

namespace mirrortrain::cpu {
namespace {

// Sums held in registers, in addition to a row of b and an element of a: 24 of AVX-512's 32 registers, 12 of 16
// elsewhere.
constexpr int kAccumulators = kLanes == 16 ? 24 : 12;
constexpr int kPanelVectors = kLanes == 16 ? 4 : 2;
constexpr int kMaxRows = 12;
constexpr int max_rows(int vectors) { return std::min(kMaxRows, kAccumulators / vectors); }

/// Inner dimension from which the first block of rows would wait for each panel of b: blocks on one panel prefetch the
/// next.
constexpr std::int64_t kLongProduct = 256;

/// What a tile prefetches into the second-level cache meanwhile: at each step, the line at `data` + step * `stride`.
struct Ahead {
  const float* data;
  std::int64_t stride;
};

/// One tile's share of `next`, if each of `tiles` tiles has so many steps.
Ahead share_of(std::span<const float> next, std::int64_t tile, std::int64_t tiles, std::int64_t steps) {
  const std::int64_t lines = tiles * std::max<std::int64_t>(steps, 1);
  return {next.data() + std::ssize(next) * tile / tiles, (std::ssize(next) + lines - 1) / lines};
}

/// kR rows by kW vectors of c.
template <class Left, int kR, int kW>
void tile(std::int64_t steps, const Left& a, const ConstRows& b, const Rows& c, const Ends& ends, const Ahead& next) {
  Vec sum[kR][kW];
#pragma GCC unroll 12
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 4
    for (int w = 0; w < kW; ++w) {
      const float* const start = ends.accumulate ? c.data + r * c.stride : ends.bias;
      sum[r][w] = start ? load(start + w * kLanes) : Vec{};
    }
  }
  const float *b_step = b.data, *ahead = next.data;
  for (std::int64_t step = 0; step < steps; ++step, b_step += b.stride, ahead += next.stride) {
    __builtin_prefetch(ahead, 0, 2);
    const float* const a_step = a.step(step);
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
#pragma GCC unroll 12
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 4
    for (int w = 0; w < kW; ++w) {
      store(c.data + r * c.stride + w * kLanes, ends.relu ? relu(sum[r][w]) : sum[r][w]);
    }
  }
}

template <class Left>
using Tile = void (*)(std::int64_t, const Left&, const ConstRows&, const Rows&, const Ends&, const Ahead&);

template <class Left, int kW, int... kR>
constexpr std::array<Tile<Left>, kMaxRows> tiles_of(std::integer_sequence<int, kR...>) {
  return {(kR < max_rows(kW) ? &tile<Left, std::min(kR + 1, max_rows(kW)), kW> : nullptr)...};
}

template <class Left, int... kW>
constexpr auto all_tiles(std::integer_sequence<int, kW...>) {
  return std::array{tiles_of<Left, kW + 1>(std::make_integer_sequence<int, kMaxRows>{})...};
}

/// kTiles[vectors - 1][rows - 1]
template <class Left>
constexpr auto kTiles = all_tiles<Left>(std::make_integer_sequence<int, kPanelVectors>{});

template <class Left>
void multiply_in_tiles(std::int64_t rows, std::int64_t columns, std::int64_t steps, const Left& a, const ConstRows& b,
                       const Rows& c, const Ends& ends, std::span<const float> next) {
  const std::int64_t panels = (columns + panel_columns() - 1) / panel_columns();
  for (std::int64_t panel = 0; panel < panels; ++panel) {
    const std::int64_t column = panel * panel_columns();
    const auto vectors = static_cast<int>(std::min(columns - column, panel_columns()) / kLanes);
    const auto& tiles = kTiles<Left>[static_cast<std::size_t>(vectors - 1)];
    const Ends panel_ends{ends.accumulate, ends.bias ? ends.bias + column : nullptr, ends.relu};
    // Even blocks: a last block of one row would wait for its own sums.
    const std::int64_t most = max_rows(vectors), blocks = (rows + most - 1) / most;
    for (std::int64_t block = 0; block < blocks; ++block) {
      const std::int64_t begin = rows * block / blocks, count = rows * (block + 1) / blocks - begin;
      const std::int64_t line = block * kLine, next_column = column + panel_columns() + line;
      const bool brings = steps >= kLongProduct && line < panel_columns() && next_column < columns;
      const Ahead ahead = brings         ? Ahead{b.data + next_column, b.stride}
                          : next.empty() ? Ahead{b.data + column, 0}
                                         : share_of(next, panel * blocks + block, panels * blocks, steps);
      tiles[static_cast<std::size_t>(count - 1)](steps, a.from_row(begin), {b.data + column, b.stride},
                                                 {c.data + begin * c.stride + column, c.stride}, panel_ends, ahead);
    }
  }
}

}  // namespace

std::int64_t panel_columns() { return kPanelVectors * kLanes; }

void multiply(std::int64_t rows, std::int64_t columns, std::int64_t steps, const Scalars& a, const ConstRows& b,
              const Rows& c, const Ends& ends, std::span<const float> next) {
  multiply_in_tiles(rows, columns, steps, a, b, c, ends, next);
}

void multiply(std::int64_t rows, std::int64_t columns, std::int64_t steps, const Taps& a, const ConstRows& b,
              const Rows& c, const Ends& ends, std::span<const float> next) {
  multiply_in_tiles(rows, columns, steps, a, b, c, ends, next);
}

}  // namespace mirrortrain::cpu
