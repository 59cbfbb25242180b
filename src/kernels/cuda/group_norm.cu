#include "kernels/cuda/custom_kernels.h"
#include "kernels/cuda/layer_norm.h"
#include "kernels/cuda/pack.h"
#include "kernels/cuda/stream_kernel.h"
#include "kernels/cuda/team.h"
#include "kernels/scalar/group_norm.h"

namespace mirrortrain::cuda {
namespace {

using scalar::GroupNormShape;

/// A group of a sample, and its elements' offsets.
struct Group {
  std::int64_t first, width, channels, first_channel;

  __device__ Group(const GroupNormShape& s, std::int64_t number)
      : width(s.width), channels(s.channels), first_channel(number % s.groups * s.width) {
    first = number / s.groups * s.cells * s.channels + first_channel;
  }
  struct Place {
    std::int64_t at, channel;
  };
  __device__ Place place(std::int64_t i) const {
    const Division cell = divide(i, width);
    return {first + cell.quotient * channels + cell.rest, first_channel + cell.rest};
  }
};

template <class Team, class T>
__global__ void __launch_bounds__(kBlock) group_norm(GroupNormShape s, float epsilon, const T* x, const float* gamma,
                                                     const float* beta, T* y, float* means, float* inverses) {
  const Team team;
  const auto count = static_cast<float>(s.together());
  for (std::int64_t number = team.first(); number < s.samples * s.groups; number += team.step()) {
    const Group group(s, number);
    float sum = 0, squares = 0;
    each_element(team, s.together(), [&](std::int64_t i) { sum += static_cast<float>(x[group.place(i).at]); });
    const float mean = team_sum(team, sum) / count;
    each_element(team, s.together(), [&](std::int64_t i) {
      const float deviation = static_cast<float>(x[group.place(i).at]) - mean;
      squares += deviation * deviation;
    });
    const float inverse = 1.0f / sqrtf(team_sum(team, squares) / count + epsilon);
    if (team.rank() == 0) {
      if (means != nullptr) means[number] = mean;
      if (inverses != nullptr) inverses[number] = inverse;
    }
    if (y == nullptr) continue;
    each_element(team, s.together(), [&](std::int64_t i) {
      const Group::Place place = group.place(i);
      const float scale = gamma == nullptr ? inverse : gamma[place.channel] * inverse;
      y[place.at] =
          T((static_cast<float>(x[place.at]) - mean) * scale + (beta == nullptr ? 0.0f : beta[place.channel]));
    });
  }
}

/// With d = (x - mean) inverse: dx = inverse (gamma dy - mean(gamma dy) - d mean(gamma dy d)).
template <class Team, class T>
__global__ void __launch_bounds__(kBlock)
    group_norm_gradient(GroupNormShape s, const T* x, const T* dy, const float* gamma, const float* means,
                        const float* inverses, T* dx) {
  const Team team;
  const auto count = static_cast<float>(s.together());
  for (std::int64_t number = team.first(); number < s.samples * s.groups; number += team.step()) {
    const Group group(s, number);
    const float mean = means[number], inverse = inverses[number];
    const auto gradient_of = [&](const Group::Place& place) {
      return static_cast<float>(dy[place.at]) * (gamma == nullptr ? 1.0f : gamma[place.channel]);
    };
    float sum = 0, along = 0;
    each_element(team, s.together(), [&](std::int64_t i) {
      const Group::Place place = group.place(i);
      const float gradient = gradient_of(place);
      sum += gradient;
      along += gradient * ((static_cast<float>(x[place.at]) - mean) * inverse);
    });
    sum = team_sum(team, sum) / count;
    along = team_sum(team, along) / count;
    each_element(team, s.together(), [&](std::int64_t i) {
      const Group::Place place = group.place(i);
      const float deviation = (static_cast<float>(x[place.at]) - mean) * inverse;
      dx[place.at] = T((gradient_of(place) - sum - deviation * along) * inverse);
    });
  }
}

constexpr unsigned kStrands = kBlock / kWarpSize;

/// The sums over samples and cells of dy d for gamma and of dy for beta: partial[part][2][channel]. A block has 32
/// adjacent channels and kStrands strands of cells; blockIdx.y is the part of the cells.
template <class T>
__global__ void __launch_bounds__(kBlock) channel_sums(GroupNormShape s, const T* x, const T* dy, const float* means,
                                                       const float* inverses, double* partial) {
  __shared__ double of_strand[2][kStrands][kWarpSize];
  const std::int64_t all = s.samples * s.cells, step = static_cast<std::int64_t>(gridDim.y) * kStrands;
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kWarpSize; first < s.channels;
       first += static_cast<std::int64_t>(gridDim.x) * kWarpSize) {
    const std::int64_t c = first + threadIdx.x;
    double along = 0, sum = 0;
    for (std::int64_t cell = blockIdx.y * kStrands + threadIdx.y; c < s.channels && cell < all; cell += step) {
      const std::int64_t number = divide(cell, s.cells).quotient * s.groups + divide(c, s.width).quotient;
      const auto gradient = static_cast<float>(dy[cell * s.channels + c]);
      const float deviation = (static_cast<float>(x[cell * s.channels + c]) - means[number]) * inverses[number];
      along += static_cast<double>(gradient * deviation);
      sum += static_cast<double>(gradient);
    }
    of_strand[0][threadIdx.y][threadIdx.x] = along;
    of_strand[1][threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y < 2 && c < s.channels) {
      double total = 0;
      for (unsigned strand = 0; strand < kStrands; ++strand) total += of_strand[threadIdx.y][strand][threadIdx.x];
      partial[(blockIdx.y * 2 + threadIdx.y) * s.channels + c] = total;
    }
    __syncthreads();
  }
}

__global__ void __launch_bounds__(kBlock)
    add_parts(std::int64_t channels, std::int64_t parts, const double* partial, float* gamma, float* beta) {
  for (std::int64_t i = grid_thread(); i < 2 * channels; i += grid_threads()) {
    double sum = 0;
    for (std::int64_t part = 0; part < parts; ++part) sum += partial[part * 2 * channels + i];
    float* to = i < channels ? gamma : beta;
    if (to != nullptr) to[i < channels ? i : i - channels] = static_cast<float>(sum);
  }
}

std::unique_ptr<Kernel> make_group_norm(const ops::GroupNorm& op, const KernelSpecs& specs) {
  const GroupNormShape s(op, specs.inputs[0].shape);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return stream_kernel([s, epsilon = op.epsilon](Stream& stream, const KernelArgs& args) {
      const T* x = input<T>(args, 0);
      const float *gamma = input<float>(args, 1), *beta = input<float>(args, 2);
      T* const y = output<T>(args, 0);
      float *const means = output<float>(args, 1), *const inverses = output<float>(args, 2);
      if (fits_warp(s) && in_packs(x, gamma, beta, y)) {
        return normalize_rows(stream, s, epsilon, x, gamma, beta, y, means, inverses);
      }
      with_team(s.together(), [&]<class Team>(Team) {
        launch(stream, blocks_for(s.samples * s.groups, kBlock / Team::kThreads), kBlock, 0, group_norm<Team, T>, s,
               epsilon, x, gamma, beta, y, means, inverses);
      });
    });
  });
}

std::unique_ptr<Kernel> make_group_norm_gradient(const ops::GroupNormGradient& op, const KernelSpecs& specs) {
  constexpr std::int64_t kMostParts = 64, kFewCells = 8;
  const GroupNormShape s(op, specs.inputs[0].shape);
  const std::int64_t parts = std::clamp<std::int64_t>(s.samples * s.cells / (kStrands * kFewCells), 1, kMostParts);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    const auto body = [=](Stream& stream, const KernelArgs& args) {
      const T *x = input<T>(args, 0), *dy = input<T>(args, 1);
      const float *gamma = input<float>(args, 2), *means = input<float>(args, 3), *inverses = input<float>(args, 4);
      T* const dx = output<T>(args, 0);
      const bool in_warps = fits_warp(s) && in_packs(x, dy, gamma, dx);
      if (dx != nullptr && in_warps) {
        row_norm_gradient(stream, s, x, dy, gamma, means, inverses, dx);
      } else if (dx != nullptr) {
        with_team(s.together(), [&]<class Team>(Team) {
          launch(stream, blocks_for(s.samples * s.groups, kBlock / Team::kThreads), kBlock, 0,
                 group_norm_gradient<Team, T>, s, x, dy, gamma, means, inverses, dx);
        });
      }
      auto* partial = reinterpret_cast<double*>(args.workspace);
      if (in_warps) {
        row_norm_sums(stream, s, parts, x, dy, means, inverses, partial);
      } else {
        launch(stream, dim3(blocks_for(s.channels, kWarpSize), static_cast<unsigned>(parts)), dim3(kWarpSize, kStrands),
               0, channel_sums<T>, s, x, dy, means, inverses, partial);
      }
      launch(stream, blocks_for(2 * s.channels), kBlock, 0, add_parts, s.channels, parts, partial,
             output<float>(args, 1), output<float>(args, 2));
    };
    return stream_kernel(body, static_cast<std::size_t>(parts * 2 * s.channels) * sizeof(double));
  });
}

}  // namespace

void add_group_norm_kernels(KernelRegistry& registry) {
  registry.add<ops::GroupNorm>(make_group_norm);
  registry.add<ops::GroupNormGradient>(make_group_norm_gradient);
}

}  // namespace mirrortrain::cuda
