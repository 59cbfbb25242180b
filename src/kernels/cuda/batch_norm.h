#pragma once

#include <algorithm>

#include "graph/ops/batch_norm.h"
#include "kernels/cuda/channels.h"

namespace mirrortrain::cuda {

/// The factor of a normalized channel: factor / sqrt(variance + epsilon), where an absent factor is 1 and an absent
/// variance means no division.
struct ChannelScale {
  const float *factor = nullptr, *variance = nullptr;
  float epsilon = 0;
};

/// y = (x - mean) scale + beta + added, then relu or relu6 if requested; beta and added may be null.
template <class T>
void normalize(Stream& stream, const Cells& shape, ops::Rectifier relu, const T* x, const float* mean,
               const ChannelScale& scale, const float* beta, const T* added, T* y);

/// The gradient before relu or relu6, whose output is y.
__device__ inline float rectified(float gradient, float y, float most) {
  return y > 0.0f && y < most ? gradient : 0.0f;
}

/// The cells that a thread adds in float before the sums continue in double.
inline constexpr std::int64_t kCellsInFloat = 64;

/// Which channels are summed: all of them.
struct EveryChannel {
  __device__ bool operator()(std::int64_t /*channel*/) const { return true; }
};

/// Whether one of the kCount channels from `channel` on is summed.
template <int kCount, class Wanted>
__device__ inline bool wants_any(const Wanted& wanted, std::int64_t channel) {
  bool any = false;
  for (int i = 0; i < kCount; ++i) any = any || wanted(channel + i);
  return any;
}

/// sums[part][0 or 1][channel]: two sums over the cells of the grid's part, for the channels that are wanted.
/// term.at<kCount>(channel) gives a function that adds an element's pack to two arrays of sums.
template <int kCount, class Term, class Wanted>
__global__ void __launch_bounds__(kBlock) sum_parts_of_channels(Cells shape, Term term, Wanted wanted, double* sums) {
  float* shared = shared_memory<float>();
  const std::int64_t channel = channel_of_thread<kCount>();
  float first[kCount] = {}, second[kCount] = {};
  if (channel < shape.channels && wants_any<kCount>(wanted, channel)) {
    const auto add = term.template at<kCount>(channel);
#pragma unroll 4
    for (std::int64_t cell = first_cell(); cell < shape.cells; cell += cell_step()) {
      add(cell * shape.channels + channel, first, second);
    }
  }
  const int row = static_cast<int>(blockDim.x) * kCount,
            thread = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
  float* own = shared + static_cast<int>(threadIdx.y) * 2 * row + static_cast<int>(threadIdx.x) * kCount;
  for (int i = 0; i < kCount; ++i) {
    own[i] = first[i];
    own[row + i] = second[i];
  }
  __syncthreads();
  const std::int64_t block_channel = static_cast<std::int64_t>(blockIdx.x) * row;
  for (int i = thread; i < 2 * row; i += static_cast<int>(kBlock)) {
    const int which = i < row ? 0 : 1;
    const std::int64_t of_channel = block_channel + i - which * row;
    if (of_channel >= shape.channels || !wanted(of_channel)) continue;
    double sum = 0;
    for (int y = 0; y < static_cast<int>(blockDim.y); ++y) sum += static_cast<double>(shared[y * 2 * row + i]);
    sums[(blockIdx.y * 2 + which) * shape.channels + of_channel] = sum;
  }
}

/// Blocks are of maximum size: a layer of few channels has few blocks, each with a thousand or more parts to add.
inline constexpr unsigned kStrands = 1024 / kWarpSize;

/// Calls finish(channel, first sum, second sum) for each channel with the sums over all parts, in a fixed order; with
/// zeros for channels that are not wanted.
template <class Finish, class Wanted>
__global__ void __launch_bounds__(kStrands* kWarpSize)
    finish_channels(std::int64_t parts, std::int64_t channels, const double* sums, Finish finish, Wanted wanted) {
  __shared__ double strands[2][kStrands][kWarpSize];
  const std::int64_t channel = static_cast<std::int64_t>(blockIdx.x) * kWarpSize + threadIdx.x;
  const bool adds = channel < channels && wanted(channel);
  double first = 0, second = 0;
#pragma unroll 4
  for (std::int64_t part = threadIdx.y; part < parts && adds; part += kStrands) {
    first += sums[part * 2 * channels + channel];
    second += sums[(part * 2 + 1) * channels + channel];
  }
  strands[0][threadIdx.y][threadIdx.x] = first;
  strands[1][threadIdx.y][threadIdx.x] = second;
  __syncthreads();
  if (threadIdx.y > 0 || channel >= channels) return;
  for (unsigned strand = 1; strand < kStrands; ++strand) {
    first += strands[0][strand][threadIdx.x];
    second += strands[1][strand][threadIdx.x];
  }
  finish(channel, first, second);
}

/// Two sums per channel in a fixed order, in two launches.
class ChannelSums {
 public:
  ChannelSums(const Cells& shape, int count) : shape_(shape), blocks_(shape.channels, count), parts_(parts(shape)) {}

  /// Bytes that `run` needs.
  std::size_t bytes() const { return static_cast<std::size_t>(parts_ * 2 * shape_.channels) * sizeof(double); }

  /// kCount is the `count` that this was made for.
  template <int kCount, class Term, class Finish, class Wanted = EveryChannel>
  void run(Stream& stream, const Term& term, const Finish& finish, double* sums, const Wanted& wanted = {}) const {
    launch(stream, blocks_.grid(parts_), blocks_.block(), 2 * kBlock * kCount * sizeof(float),
           sum_parts_of_channels<kCount, Term, Wanted>, shape_, term, wanted, sums);
    launch(stream, static_cast<unsigned>((shape_.channels + kWarpSize - 1) / kWarpSize), dim3(kWarpSize, kStrands), 0,
           finish_channels<Finish, Wanted>, parts_, shape_.channels, sums, finish, wanted);
  }

 private:
  /// Enough parts to fill a GPU if there are enough cells, and to limit the cells that a thread adds in float.
  std::int64_t parts(const Cells& shape) const {
    constexpr std::int64_t kFewCells = 8, kManyBlocks = 512;
    const std::int64_t wanted =
        std::min(blocks_.parts(shape.cells, kFewCells), kManyBlocks / std::max<std::int64_t>(1, blocks_.across) + 1);
    return std::min<std::int64_t>(65535, std::max(wanted, blocks_.parts(shape.cells, kCellsInFloat)));
  }

  Cells shape_;
  ChannelBlocks blocks_;
  std::int64_t parts_;
};

/// Bytes for the sums with channels in packs or one by one.
template <class T>
std::size_t sums_bytes(const Cells& shape) {
  return std::max(ChannelSums(shape, kPackOf<T>).bytes(), ChannelSums(shape, 1).bytes());
}

}  // namespace mirrortrain::cuda
