#include "base/bfloat16.h"
#include "kernels/cuda/layer_norm.h"
#include "kernels/cuda/pack.h"
#include "kernels/cuda/team.h"

namespace mirrortrain::cuda {
namespace {

using scalar::GroupNormShape;
using Warp = Lanes<32>;

/// Elements of a lane, at most.
constexpr int kMostOfLane = 64;

/// A lane's packs of a row: every 32nd.
template <class T, int kElements>
struct LanePacks {
  static constexpr int kPack = kPackOf<T>, kPacks = kElements / kPack;
  std::int64_t width;

  /// Calls body(index of the lane's first element in its registers, index in the row) for its packs.
  template <class Body>
  __device__ void each(const Body& body) const {
#pragma unroll
    for (int pack = 0; pack < kPacks; ++pack) {
      const std::int64_t at = (pack * 32 + Warp::rank()) * kPack;
      if (at < width) body(pack * kPack, at);
    }
  }
};

template <class T, int kElements>
__global__ void __launch_bounds__(kBlock) normalize(GroupNormShape s, float epsilon, const T* x, const float* gamma,
                                                    const float* beta, T* y, float* means, float* inverses) {
  constexpr int kPack = kPackOf<T>;
  const Warp team;
  const LanePacks<T, kElements> packs{s.channels};
  const float share = 1.0f / static_cast<float>(s.channels);
  for (std::int64_t row = team.first(); row < s.samples; row += team.step()) {
    float value[kElements / kPack][kPack] = {};
    float sum = 0, squares = 0;
    packs.each([&](int first, std::int64_t at) {
      float(&own)[kPack] = value[first / kPack];
      load(own, x + row * s.channels + at, kPack, true);
#pragma unroll
      for (int i = 0; i < kPack; ++i) sum += own[i];
    });
    const float mean = team_sum(team, sum) * share;
    packs.each([&](int first, std::int64_t) {
#pragma unroll
      for (int i = 0; i < kPack; ++i) {
        const float deviation = value[first / kPack][i] - mean;
        squares += deviation * deviation;
      }
    });
    const float inverse = 1.0f / sqrtf(team_sum(team, squares) * share + epsilon);
    if (team.rank() == 0) {
      if (means != nullptr) means[row] = mean;
      if (inverses != nullptr) inverses[row] = inverse;
    }
    if (y == nullptr) continue;
    packs.each([&](int first, std::int64_t at) {
      float(&own)[kPack] = value[first / kPack];
      float scale[kPack], shift[kPack] = {};
#pragma unroll
      for (float& one : scale) one = 1;
      if (gamma != nullptr) load(scale, gamma + at, kPack, true);
      if (beta != nullptr) load(shift, beta + at, kPack, true);
#pragma unroll
      for (int i = 0; i < kPack; ++i) own[i] = (own[i] - mean) * (scale[i] * inverse) + shift[i];
      store(y + row * s.channels + at, own, kPack, true);
    });
  }
}

/// With d = (x - mean) inverse: dx = inverse (gamma dy - mean(gamma dy) - d mean(gamma dy d)).
template <class T, int kElements>
__global__ void __launch_bounds__(kBlock)
    normalize_gradient(GroupNormShape s, const T* x, const T* dy, const float* gamma, const float* means,
                       const float* inverses, T* dx) {
  constexpr int kPack = kPackOf<T>;
  const Warp team;
  const LanePacks<T, kElements> packs{s.channels};
  const float share = 1.0f / static_cast<float>(s.channels);
  for (std::int64_t row = team.first(); row < s.samples; row += team.step()) {
    const float mean = means[row], inverse = inverses[row];
    float deviation[kElements / kPack][kPack] = {}, gradient[kElements / kPack][kPack] = {};
    float sum = 0, along = 0;
    packs.each([&](int first, std::int64_t at) {
      float(&d)[kPack] = deviation[first / kPack];
      float(&g)[kPack] = gradient[first / kPack];
      load(d, x + row * s.channels + at, kPack, true);
      load(g, dy + row * s.channels + at, kPack, true);
      float scale[kPack];
#pragma unroll
      for (float& one : scale) one = 1;
      if (gamma != nullptr) load(scale, gamma + at, kPack, true);
#pragma unroll
      for (int i = 0; i < kPack; ++i) {
        d[i] = (d[i] - mean) * inverse;
        g[i] *= scale[i];
        sum += g[i];
        along += g[i] * d[i];
      }
    });
    sum = team_sum(team, sum) * share;
    along = team_sum(team, along) * share;
    packs.each([&](int first, std::int64_t at) {
      float(&g)[kPack] = gradient[first / kPack];
#pragma unroll
      for (int i = 0; i < kPack; ++i) g[i] = (g[i] - sum - deviation[first / kPack][i] * along) * inverse;
      store(dx + row * s.channels + at, g, kPack, true);
    });
  }
}

/// A block has 32 packs of channels and kNormStrands strands of samples; blockIdx.y is the part of the samples.
template <class T>
__global__ void __launch_bounds__(kBlock) sum_channels(GroupNormShape s, const T* x, const T* dy, const float* means,
                                                       const float* inverses, double* partial) {
  constexpr int kPack = kPackOf<T>;
  __shared__ double of_strand[kNormStrands][kPack * 32];
  for (std::int64_t block = blockIdx.x; block * kPack * 32 < s.channels; block += gridDim.x) {
    const std::int64_t channel = (block * 32 + threadIdx.x) * kPack;
    double sums[2][kPack] = {};
    for (std::int64_t sample = blockIdx.y * kNormStrands + threadIdx.y; channel < s.channels && sample < s.samples;
         sample += static_cast<std::int64_t>(gridDim.y) * kNormStrands) {
      float value[kPack], gradient[kPack];
      load(value, x + sample * s.channels + channel, kPack, true);
      load(gradient, dy + sample * s.channels + channel, kPack, true);
      const float mean = means[sample], inverse = inverses[sample];
#pragma unroll
      for (int i = 0; i < kPack; ++i) {
        sums[0][i] += static_cast<double>(gradient[i] * ((value[i] - mean) * inverse));
        sums[1][i] += static_cast<double>(gradient[i]);
      }
    }
#pragma unroll
    for (int which = 0; which < 2; ++which) {
#pragma unroll
      for (int i = 0; i < kPack; ++i) of_strand[threadIdx.y][i * 32 + threadIdx.x] = sums[which][i];
      __syncthreads();
      const unsigned own =
          threadIdx.y * 32 + threadIdx.x;  // of the block's channels, so that adjacent threads write them
      if (const std::int64_t to = block * kPack * 32 + own; own < kPack * 32 && to < s.channels) {
        double total = 0;
        for (const double(&strand)[kPack * 32] : of_strand) total += strand[own % kPack * 32 + own / kPack];
        partial[(static_cast<std::int64_t>(blockIdx.y) * 2 + which) * s.channels + to] = total;
      }
      __syncthreads();
    }
  }
}

/// Calls function(std::integral_constant<int, N>) with the elements that a lane keeps.
template <class Function>
void with_elements_of_lane(std::int64_t width, const Function& function) {
  if (width <= 256) return function(std::integral_constant<int, 8>{});
  if (width <= 512) return function(std::integral_constant<int, 16>{});
  if (width <= 1024) return function(std::integral_constant<int, 32>{});
  function(std::integral_constant<int, kMostOfLane>{});
}

unsigned blocks_of_rows(const GroupNormShape& s) { return blocks_for(s.samples, kBlock / Warp::kThreads); }

}  // namespace

bool fits_warp(const GroupNormShape& s) {
  return s.cells == 1 && s.groups == 1 && s.channels % kPackOf<bfloat16> == 0 && s.channels <= 32 * kMostOfLane;
}

template <class T>
void normalize_rows(Stream& stream, const GroupNormShape& s, float epsilon, const T* x, const float* gamma,
                    const float* beta, T* y, float* means, float* inverses) {
  with_elements_of_lane(s.channels, [&]<int kElements>(std::integral_constant<int, kElements>) {
    launch(stream, blocks_of_rows(s), kBlock, 0, normalize<T, kElements>, s, epsilon, x, gamma, beta, y, means,
           inverses);
  });
}

template <class T>
void row_norm_gradient(Stream& stream, const GroupNormShape& s, const T* x, const T* dy, const float* gamma,
                       const float* means, const float* inverses, T* dx) {
  with_elements_of_lane(s.channels, [&]<int kElements>(std::integral_constant<int, kElements>) {
    launch(stream, blocks_of_rows(s), kBlock, 0, normalize_gradient<T, kElements>, s, x, dy, gamma, means, inverses,
           dx);
  });
}

template <class T>
void row_norm_sums(Stream& stream, const GroupNormShape& s, std::int64_t parts, const T* x, const T* dy,
                   const float* means, const float* inverses, double* partial) {
  const dim3 grid(blocks_for(s.channels, kPackOf<T> * 32), static_cast<unsigned>(parts));
  launch(stream, grid, dim3(kWarpSize, kNormStrands), 0, sum_channels<T>, s, x, dy, means, inverses, partial);
}

#define MIRRORTRAIN_ROWS_OF(T)                                                                                    \
  template void normalize_rows(Stream&, const GroupNormShape&, float, const T*, const float*, const float*, T*,   \
                               float*, float*);                                                                   \
  template void row_norm_gradient(Stream&, const GroupNormShape&, const T*, const T*, const float*, const float*, \
                                  const float*, T*);                                                              \
  template void row_norm_sums(Stream&, const GroupNormShape&, std::int64_t, const T*, const T*, const float*,     \
                              const float*, double*);
MIRRORTRAIN_ROWS_OF(float)
MIRRORTRAIN_ROWS_OF(bfloat16)
#undef MIRRORTRAIN_ROWS_OF

}  // namespace mirrortrain::cuda
