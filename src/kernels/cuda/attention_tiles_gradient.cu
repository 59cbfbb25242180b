#include "kernels/cuda/attention_tiles.h"
#include "kernels/cuda/team.h"

namespace mirrortrain::cuda {
namespace {

/// sum(dO O) of each step of each head, by as many lanes as there are packs.
template <class T, int kSize>
__global__ void __launch_bounds__(kBlock) output_dots(AttentionGradients<T> g) {
  constexpr int kPack = kPackOf<T>;
  const Lanes<kSize / kPack> team;
  const AttentionShape& a = g.in.a;
  for (std::int64_t number = team.first(); number < a.rows * a.steps * a.op.heads; number += team.step()) {
    float y[kPack], dy[kPack], dot = 0;
    load(y, g.output + number * kSize + team.rank() * kPack, kPack, true);
    load(dy, g.gradient + number * kSize + team.rank() * kPack, kPack, true);
#pragma unroll
    for (int i = 0; i < kPack; ++i) dot += y[i] * dy[i];
    dot = team_sum(team, dot);
    if (team.rank() != 0) continue;
    const Division by_head = divide(number, a.op.heads), by_step = divide(by_head.quotient, a.steps);
    g.dots[a.of_step(by_step.quotient, by_head.rest, by_step.rest)] = dot;
  }
}

/// The gradient of the query: as `tile_attention`, with the weights from the scores' sums.
template <class T, int kSize>
__global__ void __launch_bounds__(kTileThreads, (TileOf<T, kSize>::kBlocks))
    tile_query_gradient(AttentionGradients<T> g, T* dq) {
  using Tile = TileOf<T, kSize>;
  constexpr int kScores = Tile::kTogether / 8, kOutputs = kSize / 8;
  const AttentionOperands<T>& in = g.in;
  const AttentionShape& a = in.a;
  std::byte* const shared = shared_memory<std::byte>();
  const std::int64_t tiles = (a.steps + kTileRows - 1) / kTileRows;
  for (std::int64_t number = blockIdx.x; number < tiles * a.rows * a.op.heads; number += gridDim.x) {
    const TileNumber at(a, number, tiles, true);
    const int first_step = at.first + static_cast<int>(threadIdx.x) / 32 * 16;
    const HeadSteps<const T> queries(in.query, a, at.row, at.head, a.steps, kSize);
    const HeadSteps<const T> gradients(g.gradient, a, at.row, at.head, a.steps, kSize);
    const HeadSteps<const T> keys(in.key, a, at.row, at.head, a.sources, kSize);
    const HeadSteps<const T> values(in.value, a, at.row, at.head, a.sources, kSize);
    const scalar::AttentionSight sight(a, in.query_mask, in.value_mask, at.row);
    const Seen seen[2] = {Seen(sight, first_step + lane_row()), Seen(sight, first_step + lane_row() + 8)};
    const SeenTogether by_warp = of_warp(seen), by_block = of_block(by_warp);
    const TileDropout dropout(in, at.row, at.head);
    float log_sum[2] = {}, dot[2] = {};
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int step = first_step + lane_row() + half * 8;
      if (step >= a.steps) continue;
      log_sum[half] = g.log_sums[a.of_step(at.row, at.head, step)] * kLog2E;
      dot[half] = g.dots[a.of_step(at.row, at.head, step)];
    }

    LeftFragment query[Tile::kSteps], gradient[Tile::kSteps];
    load_left<T, kSize>(query, shared, queries, at.first);
    load_left<T, kSize>(gradient, shared, gradients, at.first);
    Sums sums[kOutputs] = {};
    each_tile<T, kSize>(
        shared, by_block.first_tile(Tile::kColumns), by_block.end,
        [&](int first, std::byte* stage, int) {
          load_steps<T, kSize, Tile::kColumns>(stage, keys, first);
          load_steps<T, kSize, Tile::kColumns>(stage + Tile::kTileBytes, values, first);
        },
        [&](int first_of_tile, const std::byte* stage, int) {
#pragma unroll 1
          for (int column = 0; column < Tile::kColumns; column += Tile::kTogether) {
            const int first = first_of_tile + column;
            if (!by_warp.any(first, Tile::kTogether)) continue;
            const std::byte *const key = stage + column * Tile::kRowBytes, *const value = key + Tile::kTileBytes;
            Sums slopes[kScores] = {}, of_weights[kScores] = {};
            add_product_with_columns<T, Tile::kRowBytes>(slopes, query, key);
            const bool whole = sight.value == nullptr && by_warp.all(first, Tile::kTogether);
            see(slopes, a.op.scale * kLog2E, whole, seen, sight.value, first);
            add_product_with_columns<T, Tile::kRowBytes>(of_weights, gradient, value);
#pragma unroll
            for (int tile = 0; tile < kScores; ++tile) {
              float factor[4] = {1, 1, 1, 1};
              if (dropout.drops()) dropout.of_sources(factor, first_step, first + tile * 8);
#pragma unroll
              for (int i = 0; i < 4; ++i) {
                const float score = slopes[tile][i], weight = exp2_approximately(score - log_sum[i / 2]);
                // What is not seen has no slope, whatever its value is; nor do equal scores.
                const bool has_slope = score != -INFINITY && !seen[i / 2].is_blind();
                slopes[tile][i] = has_slope ? weight * (of_weights[tile][i] * factor[i] - dot[i / 2]) : 0.0f;
              }
            }
            add_product_with_rows<T, Tile::kRowBytes>(sums, slopes, key);
          }
        });
    const float scale[2] = {a.op.scale, a.op.scale};
    store_steps(HeadSteps<T>(dq, a, at.row, at.head, a.steps, kSize), first_step, sums, scale);
  }
}

/// The gradients of key and value, or of one of them: rows are source steps, columns steps.
template <class T, int kSize, bool kOfKey, bool kOfValue>
__global__ void __launch_bounds__(kTileThreads, 2) tile_source_gradients(AttentionGradients<T> g, T* dk, T* dv) {
  using Tile = TileOf<T, kSize>;
  constexpr int kScores = Tile::kTogether / 8, kOutputs = kSize / 8;
  __shared__ int begins[2][Tile::kColumns], ends[2][Tile::kColumns];
  __shared__ float log_sums[2][Tile::kColumns], dots[2][Tile::kColumns];
  const AttentionOperands<T>& in = g.in;
  const AttentionShape& a = in.a;
  std::byte* const shared = shared_memory<std::byte>();
  const std::int64_t tiles = (a.sources + kTileRows - 1) / kTileRows;
  for (std::int64_t number = blockIdx.x; number < tiles * a.rows * a.op.heads; number += gridDim.x) {
    const TileNumber at(a, number, tiles, false);
    const int first_source = at.first + static_cast<int>(threadIdx.x) / 32 * 16;
    const HeadSteps<const T> queries(in.query, a, at.row, at.head, a.steps, kSize);
    const HeadSteps<const T> gradients(g.gradient, a, at.row, at.head, a.steps, kSize);
    const HeadSteps<const T> keys(in.key, a, at.row, at.head, a.sources, kSize);
    const HeadSteps<const T> values(in.value, a, at.row, at.head, a.sources, kSize);
    const scalar::AttentionSight sight(a, in.query_mask, in.value_mask, at.row);
    const TileDropout dropout(in, at.row, at.head);
    bool hidden[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int source = first_source + lane_row() + half * 8;
      hidden[half] = sight.value != nullptr && source < a.sources && sight.value[source] == 0;
    }

    LeftFragment key[Tile::kSteps];
    [[maybe_unused]] LeftFragment value[kOfKey ? Tile::kSteps : 1];
    load_left<T, kSize>(key, shared, keys, at.first);
    if constexpr (kOfKey) load_left<T, kSize>(value, shared, values, at.first);
    [[maybe_unused]] Sums key_sums[kOfKey ? kOutputs : 1] = {}, value_sums[kOfValue ? kOutputs : 1] = {};
    // Blind steps may attend to later source steps.
    const int begin = a.op.causal && !sight.is_masked() ? at.first : 0;
    each_tile<T, kSize>(
        shared, begin, static_cast<int>(a.steps),
        [&](int first, std::byte* memory, int stage) {
          load_steps<T, kSize, Tile::kColumns>(memory, queries, first);
          load_steps<T, kSize, Tile::kColumns>(memory + Tile::kTileBytes, gradients, first);
          const int column = static_cast<int>(threadIdx.x), step = first + column;
          if (column >= Tile::kColumns) return;
          const Seen seen(sight, step);
          const bool exists = step < a.steps;
          begins[stage][column] = seen.begin;
          ends[stage][column] = seen.end;
          log_sums[stage][column] = exists ? g.log_sums[a.of_step(at.row, at.head, step)] * kLog2E : 0.0f;
          dots[stage][column] = exists ? g.dots[a.of_step(at.row, at.head, step)] : 0.0f;
        },
        [&](int first, const std::byte* memory, int stage) {
          bool see_any = false, see_all = sight.value == nullptr;
          for (int column = static_cast<int>(threadIdx.x) % 32; column < Tile::kColumns; column += 32) {
            const int from = begins[stage][column], to = ends[stage][column];
            see_any = see_any || (from < first_source + 16 && to > first_source);
            see_all = see_all && from >= 0 && from <= first_source && to >= first_source + 16;
          }
          if (__any_sync(kAllLanes, see_any) == 0) return;
          const bool whole = __all_sync(kAllLanes, see_all) != 0;
#pragma unroll 1
          for (int begin_column = 0; begin_column < Tile::kColumns; begin_column += Tile::kTogether) {
            const std::byte* const query = memory + begin_column * Tile::kRowBytes;
            const std::byte* const gradient = query + Tile::kTileBytes;
            Sums weights[kScores] = {};
            [[maybe_unused]] Sums slopes[kOfKey ? kScores : 1] = {};
            add_product_with_columns<T, Tile::kRowBytes>(weights, key, query);
            if constexpr (kOfKey) add_product_with_columns<T, Tile::kRowBytes>(slopes, value, gradient);
#pragma unroll
            for (int tile = 0; tile < kScores; ++tile) {
              const int first_column = begin_column + tile * 8;
              float factor[4] = {1, 1, 1, 1};
              if (dropout.drops()) dropout.of_steps(factor, first_source, first + first_column);
#pragma unroll
              for (int i = 0; i < 4; ++i) {
                const int column = first_column + lane_word() * 2 + i % 2;
                float score = weights[tile][i] * (a.op.scale * kLog2E);
                bool seen = true, has_slope = true;
                if (!whole) {
                  const int from = begins[stage][column], source = first_source + lane_row() + i / 2 * 8;
                  has_slope = from >= 0;
                  seen = source < ends[stage][column] && source >= from && !(hidden[i / 2] && has_slope);
                  score = has_slope ? score : 0.0f;
                }
                const float weight = seen ? exp2_approximately(score - log_sums[stage][column]) : 0.0f;
                weights[tile][i] = weight * factor[i];
                if constexpr (kOfKey) {
                  slopes[tile][i] =
                      seen && has_slope ? weight * (slopes[tile][i] * factor[i] - dots[stage][column]) : 0.0f;
                }
              }
            }
            if constexpr (kOfValue) add_product_with_rows<T, Tile::kRowBytes>(value_sums, weights, gradient);
            if constexpr (kOfKey) add_product_with_rows<T, Tile::kRowBytes>(key_sums, slopes, query);
          }
        });
    const float scale[2] = {a.op.scale, a.op.scale}, one[2] = {1, 1};
    if constexpr (kOfKey) {
      if (dk != nullptr) {
        store_steps(HeadSteps<T>(dk, a, at.row, at.head, a.sources, kSize), first_source, key_sums, scale);
      }
    }
    if constexpr (kOfValue) {
      if (dv != nullptr) {
        store_steps(HeadSteps<T>(dv, a, at.row, at.head, a.sources, kSize), first_source, value_sums, one);
      }
    }
  }
}

template <class T, int kSize>
void launch_tile_gradients(Stream& stream, const AttentionGradients<T>& g, T* dq, T* dk, T* dv) {
  const AttentionShape& a = g.in.a;
  constexpr std::size_t kShared = TileOf<T, kSize>::kSharedBytes;
  const auto blocks = [&](std::int64_t steps) {
    return blocks_for((steps + kTileRows - 1) / kTileRows * a.rows * a.op.heads, 1);
  };
  launch(stream, blocks_for(a.rows * a.steps * a.op.heads, kBlock / (kSize / kPackOf<T>)), kBlock, 0,
         output_dots<T, kSize>, g);
  if (dq != nullptr) launch(stream, blocks(a.steps), kTileThreads, kShared, tile_query_gradient<T, kSize>, g, dq);
  if constexpr (kSize * sizeof(T) <= 128) {
    if (dk == nullptr && dv == nullptr) return;
    launch(stream, blocks(a.sources), kTileThreads, kShared, tile_source_gradients<T, kSize, true, true>, g, dk, dv);
  } else {
    // The sums of both would not fit into registers.
    if (dk != nullptr) {
      launch(stream, blocks(a.sources), kTileThreads, kShared, tile_source_gradients<T, kSize, true, false>, g, dk, dv);
    }
    if (dv != nullptr) {
      launch(stream, blocks(a.sources), kTileThreads, kShared, tile_source_gradients<T, kSize, false, true>, g, dk, dv);
    }
  }
}

}  // namespace

template <class T>
void attention_gradients_in_tiles(Stream& stream, const AttentionGradients<T>& g, T* dq, T* dk, T* dv) {
  if (g.in.a.size == 64) return launch_tile_gradients<T, 64>(stream, g, dq, dk, dv);
  launch_tile_gradients<T, 128>(stream, g, dq, dk, dv);
}

template void attention_gradients_in_tiles(Stream&, const AttentionGradients<float>&, float*, float*, float*);
template void attention_gradients_in_tiles(Stream&, const AttentionGradients<bfloat16>&, bfloat16*, bfloat16*,
                                           bfloat16*);

}  // namespace mirrortrain::cuda
