#pragma once

#include <type_traits>

#include "kernels/cuda/pack.h"
#include "kernels/cuda/reduce.h"
#include "kernels/cuda/update.h"

// Shared by the update kernels: iterating over a group chunk by chunk, and computing a chunk's gradient.
namespace mirrortrain::cuda::chunks {

using scalar::kUpdateChunk;
using scalar::RegularizedSegment;

inline constexpr int kPack = kPackOf<float>;
/// A block processes a chunk at a time, each thread so many packs of it.
inline constexpr int kPacks = static_cast<int>(kUpdateChunk / kBlock / kPack);

/// A group and a step's gradients as a kernel's parameter.
struct Group {
  const RegularizedSegment* segments;
  int segment_count;
  scalar::UpdateTraits traits;
  float* master;
  float* slots[scalar::kMaxSlots];
  float* accumulated;
  double *regularization, *squares;
  bfloat16* rounded;
  float* average;
  const scalar::NormedSegment* normed;
  int normed_count;
  scalar::NormSums* norms;
  float* ratios;
};
struct Sources {
  scalar::GradientSource source[kMaxSources];
  int count;
  float regularization;
};

struct Elements {
  std::int64_t begin, end;
};

/// The position of one of a thread's packs in the chunk that begins at `chunk`. Whole chunks are known at compile time,
/// so that several loads can be in flight at once.
template <bool kWhole>
struct Place {
  std::int64_t at, count;
  bool whole;

  __device__ Place(std::int64_t chunk, int pack, std::int64_t end)
      : at(chunk + (pack * static_cast<int>(kBlock) + static_cast<int>(threadIdx.x)) * kPack),
        count(kWhole ? kPack : end - at),
        whole(kWhole || count >= kPack) {}
};

template <bool kWhole>
__device__ inline void add_up(const Sources& sources, const Place<kWhole>& place, float (&gradient)[kPack]) {
  for (float& one : gradient) one = 0.0f;
#pragma unroll 4  // so that several loads are in flight at once
  for (int s = 0; s < sources.count; ++s) {
    const float scale = sources.source[s].scale;
    float elements[kPack];
    load(elements, sources.source[s].elements + place.at, place.count, place.whole);
    // A replica without examples has another step's gradient in its memory.
    for (int i = 0; i < kPack; ++i) gradient[i] += scale == 0 ? 0.0f : scale * elements[i];
  }
}

/// The first of a group's segments, or variables, that ends after `element`.
template <class Segment>
__device__ inline int first_segment(const Segment* segments, int count, std::int64_t element) {
  int low = 0, high = count;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (segments[middle].end <= element) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// Calls body(i, segment) for the weights of a pack that are regularized.
template <bool kWhole, class Body>
__device__ inline void each_regularized(const Group& group, int segment, std::int64_t chunk_end,
                                        const Place<kWhole>& place, const Body& body) {
  for (; segment < group.segment_count && group.segments[segment].begin < chunk_end; ++segment) {
    const RegularizedSegment one = group.segments[segment];
    for (int i = 0; i < kPack; ++i) {
      const std::int64_t element = place.at + i;
      if (i < place.count && element >= one.begin && element < one.end) body(i, one);
    }
  }
}

__device__ inline double regularization_of(float w, const RegularizedSegment& segment) {
  const double weight = w;
  return segment.l1 * fabs(weight) + segment.l2 * (weight * weight);
}

/// Calls body(whether it is whole as a type, chunk, its end) for the block's chunks.
template <class Body>
__device__ inline void each_chunk(const Elements& elements, const Body& body) {
  for (std::int64_t chunk = elements.begin + blockIdx.x * kUpdateChunk; chunk < elements.end;
       chunk += gridDim.x * kUpdateChunk) {
    if (chunk + kUpdateChunk <= elements.end) {
      body(std::true_type{}, chunk, chunk + kUpdateChunk);
    } else {
      body(std::false_type{}, chunk, elements.end);
    }
  }
}

/// The step's gradient of a thread's part of a chunk, regularization included, and the chunk's regularization sum.
template <bool kWhole>
__device__ inline void chunk_gradient(const Group& group, const Sources& sources, std::int64_t chunk, std::int64_t end,
                                      float (&gradient)[kPacks][kPack], float (&weight)[kPacks][kPack]) {
  const int segment = first_segment(group.segments, group.segment_count, chunk);
  double regularization = 0;
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const Place<kWhole> place(chunk, p, end);
    load(weight[p], group.master + place.at, place.count, place.whole);
    add_up(sources, place, gradient[p]);
    each_regularized(group, segment, end, place, [&](int i, const RegularizedSegment& one) {
      regularization += regularization_of(weight[p][i], one);
      gradient[p][i] += sources.regularization * scalar::regularization_slope(weight[p][i], one.l1, one.l2);
    });
  }
  if (group.segment_count == 0) return;
  regularization = block_sum(regularization);
  if (threadIdx.x == 0) group.regularization[chunk / kUpdateChunk] = regularization;
}

}  // namespace mirrortrain::cuda::chunks
