#pragma once

#include <cstdint>

#include "kernels/cuda/attention.h"
#include "kernels/cuda/attention_dropout.h"
#include "kernels/cuda/fragments.h"
#include "kernels/cuda/reduce.h"

// What the passes of attention in tiles share. A block has 64 rows of scores, 16 in each of its warps, for 64 steps or,
// in the pass over source steps, 64 source steps; it goes over the others in tiles that are loaded two at a time, one
// being computed on. Scores are in units of ln 2, for exp2.
namespace mirrortrain::cuda {

inline constexpr unsigned kTileThreads = 128;
inline constexpr int kTileRows = 64;

inline constexpr float kLog2E = 1.44269504f, kLn2 = 0.693147181f;

template <class T, int kSize>
struct TileOf {
  static constexpr int kRowBytes = kRowBytesOf<T, kSize>;
  static constexpr int kSteps = kSize / kDepth<T>;
  /// Columns of a tile of scores: four tiles of operands fit into the 48 KiB that every launch may have.
  static constexpr int kColumns = kRowBytes <= 144 ? 64 : kRowBytes <= 272 ? 32 : 16;
  /// Of them, those whose weights a gradient has in registers at a time.
  static constexpr int kTogether = kColumns > 16 ? kColumns / 2 : kColumns;
  /// Of a multiprocessor, for passes with sums of one tensor: what their registers allow.
  static constexpr int kBlocks = kRowBytes <= 144 ? 3 : 2;
  static constexpr int kTileBytes = kColumns * kRowBytes, kStageBytes = 2 * kTileBytes;
  static constexpr std::size_t kSharedBytes = 2 * kStageBytes;
};

/// One tensor of a head of a row: `count` steps, `stride` elements apart.
template <class T>
struct HeadSteps {
  T* tensor;
  std::int64_t begin;  ///< of tensors of one shape the same, which saves registers
  int stride, count;

  __device__ HeadSteps(T* whole, const AttentionShape& a, std::int64_t row, std::int64_t head, std::int64_t steps,
                       std::int64_t width)
      : tensor(whole),
        begin(a.at(row, 0, head, steps, width)),
        stride(static_cast<int>(a.op.heads * width)),
        count(static_cast<int>(steps)) {}
  __device__ T* at(int step) const { return tensor + (begin + static_cast<std::int64_t>(step) * stride); }
};

/// Begins to copy kRows steps from `first` on to shared memory, zeroes beyond the last.
template <class T, int kSize, int kRows>
__device__ inline void load_steps(std::byte* to, const HeadSteps<const T>& from, int first) {
  constexpr int kPacks = kSize / kPackOf<T>;
  for (int i = static_cast<int>(threadIdx.x); i < kRows * kPacks; i += kTileThreads) {
    const int row = i / kPacks, pack = i % kPacks, step = first + row;
    const bool exists = step < from.count;
    copy_async(to + row * kRowBytesOf<T, kSize> + pack * 16, from.at(exists ? step : 0) + pack * kPackOf<T>, exists);
  }
}

/// 16 steps of each warp as left factors. All threads take part; `shared` has room for 64 steps.
template <class T, int kSize>
__device__ inline void load_left(LeftFragment (&to)[TileOf<T, kSize>::kSteps], std::byte* shared,
                                 const HeadSteps<const T>& from, int first) {
  load_steps<T, kSize, kTileRows>(shared, from, first);
  commit_copies();
  wait_for_copies<0>();
  __syncthreads();
  constexpr int kRowBytes = TileOf<T, kSize>::kRowBytes;
  const std::byte* own = shared + threadIdx.x / kWarpSize * 16 * kRowBytes;
#pragma unroll
  for (int step = 0; step < TileOf<T, kSize>::kSteps; ++step) to[step] = left_fragment<T, kRowBytes>(own, step);
  __syncthreads();
}

/// Calls body(first column, stage's memory) for the tiles of [begin, end), whose memory load(first column, stage's
/// memory, stage) has begun to fill. All threads take part, in body too.
template <class T, int kSize, class Load, class Body>
__device__ inline void each_tile(std::byte* shared, int begin, int end, const Load& load, const Body& body) {
  using Tile = TileOf<T, kSize>;
  if (begin < end) load(begin, shared, 0);
  commit_copies();
  int stage = 0;
  for (int first = begin; first < end; first += Tile::kColumns, stage ^= 1) {
    if (const int next = first + Tile::kColumns; next < end) {
      load(next, shared + (stage ^ 1) * Tile::kStageBytes, stage ^ 1);
    }
    commit_copies();
    wait_for_copies<1>();
    __syncthreads();
    body(first, shared + stage * Tile::kStageBytes, stage);
    __syncthreads();  // before the next copies write to what was read
  }
  wait_for_copies<0>();
}

/// Which tile of 64 rows a block processes.
struct TileNumber {
  std::int64_t row, head;
  int first;

  /// Tiles of all heads and rows together, so that those of the same length are neighbours; `descending`: the last ones
  /// first.
  __device__ TileNumber(const AttentionShape& a, std::int64_t number, std::int64_t tiles, bool descending) {
    const Division by_tile = divide(number, a.rows * a.op.heads), by_head = divide(by_tile.rest, a.op.heads);
    row = by_head.quotient, head = by_head.rest;
    first = static_cast<int>(descending ? tiles - 1 - by_tile.quotient : by_tile.quotient) * kTileRows;
  }
};

/// The source steps that a step sees: [begin, end), but for those that a mask hides. A blind one begins at -1 and has
/// equal scores for all before `end`.
struct Seen {
  int begin = 0, end = 0;

  Seen() = default;
  __device__ Seen(const scalar::AttentionSight& sight, int step) {
    if (step >= sight.a.steps) return;
    const bool blind = sight.is_masked() && sight.is_blind(step);
    begin = blind ? -1 : static_cast<int>(sight.a.first_seen(step));
    end = static_cast<int>(!blind ? sight.a.seen(step) : sight.a.op.blind_sees_all ? sight.a.sources : 0);
  }
  __device__ bool is_blind() const { return begin < 0; }
  /// From which source step on it sees every one, if no mask hides any.
  __device__ int whole_from() const { return is_blind() ? INT32_MAX : begin; }
};

/// Of several steps, the columns that any of them sees, and those that all see if no mask hides any.
struct SeenTogether {
  int begin = INT32_MAX, end = 0;
  int whole_from = 0, whole_to = INT32_MAX;

  /// The first tile of so many columns.
  __device__ int first_tile(int columns) const { return begin < 0 ? 0 : begin / columns * columns; }
  __device__ bool any(int first, int count) const { return first < end && first + count > begin; }
  __device__ bool all(int first, int count) const { return first >= whole_from && first + count <= whole_to; }
};

/// Of the steps of a warp, of which each lane has two.
__device__ inline SeenTogether of_warp(const Seen (&own)[2]) {
  const auto least = [](int a, int b) { return a < b ? a : b; };
  const auto most = [](int a, int b) { return a > b ? a : b; };
  return {warp_reduce(least(own[0].begin, own[1].begin), least), warp_reduce(most(own[0].end, own[1].end), most),
          warp_reduce(most(own[0].whole_from(), own[1].whole_from()), most),
          warp_reduce(least(own[0].end, own[1].end), least)};
}

/// Of the steps of a block. All threads take part.
__device__ inline SeenTogether of_block(const SeenTogether& of_warp) {
  constexpr int kWarps = kTileThreads / kWarpSize;
  __shared__ int begins[kWarps], ends[kWarps];
  const unsigned warp = threadIdx.x / kWarpSize;
  if (threadIdx.x % kWarpSize == 0) begins[warp] = of_warp.begin, ends[warp] = of_warp.end;
  __syncthreads();
  SeenTogether all = of_warp;
  for (int i = 0; i < kWarps; ++i) {
    all.begin = begins[i] < all.begin ? begins[i] : all.begin;
    all.end = ends[i] > all.end ? ends[i] : all.end;
  }
  __syncthreads();
  return all;
}

/// Makes scores of products: those of source steps from `first` on that a step does not see become minus infinity.
/// `whole`: all are seen.
template <int kTiles>
__device__ inline void see(Sums (&scores)[kTiles], float scale, bool whole, const Seen (&seen)[2],
                           const float* value_mask, int first) {
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float& score = scores[tile][i];
      score *= scale;
      if (whole) continue;
      const Seen& of_step = seen[i / 2];
      const int source = first + tile * 8 + lane_word() * 2 + i % 2;
      if (source >= of_step.end) {
        score = -INFINITY;
      } else if (of_step.is_blind()) {
        score = 0;
      } else if (source < of_step.begin || (value_mask != nullptr && value_mask[source] == 0)) {
        score = -INFINITY;
      }
    }
  }
}

/// Writes a warp's sums, factor[0] times those of the first eight rows and factor[1] times those of the others, as
/// steps from `first` on.
template <class T, int kTiles>
__device__ inline void store_steps(const HeadSteps<T>& steps, int first, const Sums (&sums)[kTiles],
                                   const float (&factor)[2]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int step = first + lane_row() + half * 8;
    if (step >= steps.count) continue;
    T* const to = steps.at(step) + lane_word() * 2;
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      const float two[2] = {sums[tile][2 * half] * factor[half], sums[tile][2 * half + 1] * factor[half]};
      store(to + tile * 8, two, 2, true);
    }
  }
}

}  // namespace mirrortrain::cuda
