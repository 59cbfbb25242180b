#include <algorithm>

#include "kernels/cuda/attention_tiles.h"

namespace mirrortrain::cuda {
namespace {

/// A step's running maximum and sum of weights over source steps; a lane has those of its two rows.
struct RunningSoftmax {
  float largest = -INFINITY, total = 0;  ///< of all lanes; of this lane's columns

  /// Includes the scores of row `half` of each tile, which become weights. Returns the factor of what was added before.
  template <int kTiles>
  __device__ float add(Sums (&scores)[kTiles], int half) {
    float most = largest;
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 2; ++i) most = scores[tile][2 * half + i] > most ? scores[tile][2 * half + i] : most;
    }
#pragma unroll
    for (int distance = 1; distance <= 2; distance *= 2) {
      const float others = __shfl_xor_sync(kAllLanes, most, distance);
      most = others > most ? others : most;
    }
    const float base = most == -INFINITY ? 0.0f : most, before = exp2_approximately(largest - base);
    float sum = 0;
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 2; ++i)
        sum += scores[tile][2 * half + i] = exp2_approximately(scores[tile][2 * half + i] - base);
    }
    largest = most;
    total = total * before + sum;
    return before;
  }

  __device__ float total_of_lanes() const {
    float sum = total;
#pragma unroll
    for (int distance = 1; distance <= 2; distance *= 2) sum += __shfl_xor_sync(kAllLanes, sum, distance);
    return sum;
  }
};

template <class T, int kSize>
__global__ void __launch_bounds__(kTileThreads) tile_attention(AttentionOperands<T> in, T* y, float* log_sums) {
  using Tile = TileOf<T, kSize>;
  constexpr int kScores = Tile::kColumns / 8, kOutputs = kSize / 8;
  const AttentionShape& a = in.a;
  std::byte* const shared = shared_memory<std::byte>();
  const std::int64_t tiles = (a.steps + kTileRows - 1) / kTileRows;
  for (std::int64_t number = blockIdx.x; number < tiles * a.rows * a.op.heads; number += gridDim.x) {
    const TileNumber at(a, number, tiles, true);
    const int first_step = at.first + static_cast<int>(threadIdx.x) / 32 * 16;  // of the warp
    const HeadSteps<const T> queries(in.query, a, at.row, at.head, a.steps, kSize);
    const HeadSteps<const T> keys(in.key, a, at.row, at.head, a.sources, kSize);
    const HeadSteps<const T> values(in.value, a, at.row, at.head, a.sources, kSize);
    const scalar::AttentionSight sight(a, in.query_mask, in.value_mask, at.row);
    const Seen seen[2] = {Seen(sight, first_step + lane_row()), Seen(sight, first_step + lane_row() + 8)};
    const SeenTogether by_warp = of_warp(seen), by_block = of_block(by_warp);
    const TileDropout dropout(in, at.row, at.head);

    LeftFragment query[Tile::kSteps];
    load_left<T, kSize>(query, shared, queries, at.first);
    RunningSoftmax rows[2];
    Sums sums[kOutputs] = {};
    each_tile<T, kSize>(
        shared, by_block.first_tile(Tile::kColumns), by_block.end,
        [&](int first, std::byte* stage, int) {
          load_steps<T, kSize, Tile::kColumns>(stage, keys, first);
          load_steps<T, kSize, Tile::kColumns>(stage + Tile::kTileBytes, values, first);
        },
        [&](int first, const std::byte* stage, int) {
          if (!by_warp.any(first, Tile::kColumns)) return;
          Sums weights[kScores] = {};
          add_product_with_columns<T, Tile::kRowBytes>(weights, query, stage);
          const bool whole = sight.value == nullptr && by_warp.all(first, Tile::kColumns);
          see(weights, a.op.scale * kLog2E, whole, seen, sight.value, first);
          const float before[2] = {rows[0].add(weights, 0), rows[1].add(weights, 1)};
#pragma unroll
          for (int tile = 0; tile < kOutputs; ++tile) {
#pragma unroll
            for (int i = 0; i < 4; ++i) sums[tile][i] *= before[i / 2];
          }
          if (dropout.drops()) {
#pragma unroll
            for (int tile = 0; tile < kScores; ++tile) {
              float factor[4];
              dropout.of_sources(factor, first_step, first + tile * 8);
#pragma unroll
              for (int i = 0; i < 4; ++i) weights[tile][i] *= factor[i];
            }
          }
          add_product_with_rows<T, Tile::kRowBytes>(sums, weights, stage + Tile::kTileBytes);
        });

    float inverse[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float total = rows[half].total_of_lanes();
      const int step = first_step + lane_row() + half * 8;
      // Not `total > 0`: NaN is passed on.
      inverse[half] = total == 0 ? 0.0f : 1.0f / total;
      if (log_sums != nullptr && lane_word() == 0 && step < a.steps) {
        log_sums[a.of_step(at.row, at.head, step)] = total == 0 ? 0.0f : rows[half].largest * kLn2 + logf(total);
      }
    }
    if (y != nullptr) {
      store_steps(HeadSteps<T>(y, a, at.row, at.head, a.steps, kSize), first_step, sums, inverse);
    }
  }
}

template <class T, int kSize>
void launch_tile_attention(Stream& stream, const AttentionOperands<T>& in, T* y, float* log_sums) {
  const std::int64_t tiles = (in.a.steps + kTileRows - 1) / kTileRows;
  launch(stream, blocks_for(tiles * in.a.rows * in.a.op.heads, 1), kTileThreads, TileOf<T, kSize>::kSharedBytes,
         tile_attention<T, kSize>, in, y, log_sums);
}

}  // namespace

bool fits_tiles(const AttentionShape& a) {
  return (a.size == 64 || a.size == 128) && a.value_size == a.size &&
         std::max({a.steps, a.sources, a.op.heads * a.size}) < INT32_MAX - 2 * kTileRows &&
         compiled_for_tensor_cores(tile_attention<bfloat16, 64>);
}

template <class T>
void attend_in_tiles(Stream& stream, const AttentionOperands<T>& in, T* y, float* log_sums) {
  if (in.a.size == 64) return launch_tile_attention<T, 64>(stream, in, y, log_sums);
  launch_tile_attention<T, 128>(stream, in, y, log_sums);
}

template void attend_in_tiles(Stream&, const AttentionOperands<float>&, float*, float*);
template void attend_in_tiles(Stream&, const AttentionOperands<bfloat16>&, bfloat16*, float*);

}  // namespace mirrortrain::cuda
