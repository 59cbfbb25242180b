#include "kernels/cuda/channels.h"
#include "kernels/cuda/custom_kernels.h"
#include "kernels/cuda/merge.h"
#include "kernels/cuda/pool2d.h"
#include "kernels/cuda/reduce.h"
#include "kernels/cuda/stream_kernel.h"

namespace mirrortrain::cuda {
namespace {

/// The inputs of a max pooling's gradient; `y` is null if the pooling had no relu.
template <class T>
struct PoolGradients {
  const T* dy;
  const std::uint8_t* positions;
  const T* y;

  explicit PoolGradients(bool relu, const KernelArgs& args)
      : dy(input<T>(args, 0)), positions(input<std::uint8_t>(args, 1)), y(relu ? input<T>(args, 2) : nullptr) {}

  /// Each input gathers from the windows that contain it, so that it is written once and the order of its sum is fixed.
  template <int kCount>
  __device__ void gather(const PoolShape& s, const Cell& in, float (&sum)[kCount]) const {
    float gradient[kCount], output[kCount] = {};
    for (float& one : sum) one = 0;
    each_seeing(s, in, s.lines.seeing(in.y), s.columns.seeing(in.x), [&](int out_y, int out_x, std::int64_t offset) {
      const int number = s.number(out_y, out_x, in.y, in.x);
      const auto position = *reinterpret_cast<const Pack<std::uint8_t, kCount>*>(positions + offset);
      load(gradient, dy + offset, kCount, true);
      if (y != nullptr) load(output, y + offset, kCount, true);
      for (int i = 0; i < kCount; ++i) {
        const bool passes = position.element[i] == number && (y == nullptr || output[i] > 0.0f);
        sum[i] += passes ? gradient[i] : 0.0f;
      }
    });
  }
};

template <int kCount, class T>
__global__ void __launch_bounds__(kBlock) max_pool_gradient(PoolShape s, PoolGradients<T> gradients, T* dx) {
  each_cell<kCount>(s.rows, s.lines.input, s.columns.input, s.channels, [&](const Cell& in) {
    float sum[kCount];
    gradients.gather(s, in, sum);
    store(dx + in.offset, sum, kCount, true);
  });
}

/// total[channel]: the sum of partial[part][channel] over the parts, in a fixed order. By a whole block of kBlock
/// threads, numbered by `thread`; `strands` has kBlock * kCount elements. kCount divides the channels.
template <int kCount>
__device__ void add_parts(const float* partial, int parts, int channels, int thread, double* strands, float* total) {
  const int packs = channels / kCount;
  int width = 1;
  while (width < packs && width < static_cast<int>(kBlock)) width *= 2;
  const int height = static_cast<int>(kBlock) / width, x = thread % width, y = thread / width;
  for (int first = 0; first < packs; first += width) {
    double sum[kCount] = {};
    if (first + x < packs) {
#pragma unroll 8  // so that several loads are in flight at once
      for (int part = y; part < parts; part += height) {
        float value[kCount];
        load(value, partial + static_cast<std::int64_t>(part) * channels + (first + x) * kCount, kCount, true);
        for (int i = 0; i < kCount; ++i) sum[i] += static_cast<double>(value[i]);
      }
    }
    for (int i = 0; i < kCount; ++i) strands[thread * kCount + i] = sum[i];
    __syncthreads();
    for (int channel = thread; channel < width * kCount; channel += static_cast<int>(kBlock)) {
      double all = 0;
      for (int strand = 0; strand < height; ++strand) all += strands[strand * width * kCount + channel];
      if (first * kCount + channel < channels) total[first * kCount + channel] = static_cast<float>(all);
    }
    __syncthreads();
  }
}

/// As max_pool_gradient, with the sums of dx as it is stored. The grid is that of ChannelBlocks; `partial` has
/// a row of channels for each of its parts. `dx` may be null.
template <int kCount, class T>
__global__ void __launch_bounds__(kBlock)
    max_pool_gradient_with_sums(PoolShape s, PoolGradients<T> gradients, T* dx, float* partial, unsigned* blocks_done,
                                float* sums) {
  auto* const shared = shared_memory<double>();
  const std::int64_t cells = s.rows * s.lines.input * s.columns.input, channel = channel_of_thread<kCount>();
  float total[kCount] = {};
  if (channel < s.channels) {
    for (std::int64_t cell = first_cell(); cell < cells; cell += cell_step()) {
      const Division line = divide(cell, s.columns.input), row = divide(line.quotient, s.lines.input);
      const Cell in{row.quotient, static_cast<int>(row.rest), static_cast<int>(line.rest), channel,
                    cell * s.channels + channel};
      float sum[kCount];
      gradients.gather(s, in, sum);
      const Pack<T, kCount> stored = packed<T>(sum);
      if (dx != nullptr) *reinterpret_cast<Pack<T, kCount>*>(dx + in.offset) = stored;
      for (int i = 0; i < kCount; ++i) total[i] += static_cast<float>(stored.element[i]);
    }
  }
  const int width = static_cast<int>(blockDim.x) * kCount,
            thread = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
  for (int i = 0; i < kCount; ++i) shared[thread * kCount + i] = static_cast<double>(total[i]);
  __syncthreads();
  for (int i = thread; i < width; i += static_cast<int>(kBlock)) {
    const std::int64_t of_channel = static_cast<std::int64_t>(blockIdx.x) * width + i;
    double sum = 0;
    for (int y = 0; y < static_cast<int>(blockDim.y); ++y) sum += shared[y * width + i];
    if (of_channel < s.channels) partial[blockIdx.y * s.channels + of_channel] = static_cast<float>(sum);
  }
  if (!is_last_block(blocks_done) || sums == nullptr) return;
  constexpr int kSumCount = kCount > 1 ? 4 : 1;
  add_parts<kSumCount>(partial, static_cast<int>(gridDim.y), static_cast<int>(s.channels), thread, shared, sums);
}

/// Enough parts to fill a GPU, but no more than one block adds up in the time of a launch, unless each has much work.
std::int64_t parts_of_sums(const PoolShape& shape, const ChannelBlocks& blocks) {
  constexpr std::int64_t kFewCells = 4, kManyCells = 64, kFewBlocks = 264, kManyBlocks = 1056;
  const std::int64_t cells = shape.rows * shape.lines.input * shape.columns.input;
  const std::int64_t across = std::max<std::int64_t>(1, blocks.across);
  const std::int64_t enough =
      std::clamp<std::int64_t>(blocks.parts(cells, kManyCells), kFewBlocks / across + 1, kManyBlocks / across + 1);
  return std::min({blocks.parts(cells, kFewCells), enough, max_blocks()});
}

std::unique_ptr<Kernel> make_max_pool_gradient(const ops::MaxPool2dGradient& op, const KernelSpecs& specs) {
  const PoolShape shape(op, specs.outputs[0].shape, specs.inputs[0].shape);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return stream_kernel([shape, relu = op.relu](Stream& stream, const KernelArgs& args) {
      const PoolGradients<T> in(relu, args);
      T* dx = output<T>(args, 0);
      with_pack<T>(shape.channels % kPackOf<T> == 0 && in_packs(in.dy, in.positions, in.y, dx),
                   [&]<class Count>(Count) {
                     launch(stream, blocks_for(shape.inputs() / Count::value), kBlock, 0,
                            max_pool_gradient<Count::value, T>, shape, in, dx);
                   });
    });
  });
}

template <class T>
void max_pool_gradient_with_sums(const PoolShape& shape, bool relu, Stream& stream, const KernelArgs& args) {
  const PoolGradients<T> in(relu, args);
  T* dx = output<T>(args, 0);
  auto* const sums = output<float>(args, 1);
  if (shape.inputs() == 0) {
    if (sums != nullptr) stream.zero(args.outputs[1].data, args.outputs[1].bytes());
    return;
  }
  with_pack<T>(shape.channels % kPackOf<T> == 0 && in_packs(in.dy, in.positions, in.y, dx), [&]<class Count>(Count) {
    const ChannelBlocks blocks(shape.channels, Count::value);
    launch(stream, blocks.grid(parts_of_sums(shape, blocks)), blocks.block(), kBlock * Count::value * sizeof(double),
           max_pool_gradient_with_sums<Count::value, T>, shape, in, dx, reinterpret_cast<float*>(args.workspace),
           args.blocks_done, sums);
  });
}

std::unique_ptr<Kernel> make_max_pool_gradient_with_sums(const MaxPool2dGradientWithSums& op,
                                                         const KernelSpecs& specs) {
  const PoolShape shape(op, specs.outputs[0].shape, specs.inputs[0].shape);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    std::int64_t parts = 0;
    for (const int count : {1, kPackOf<T>}) {
      parts = std::max(parts, parts_of_sums(shape, ChannelBlocks(shape.channels, count)));
    }
    return stream_kernel(
        [shape, relu = op.relu](Stream& stream, const KernelArgs& args) {
          max_pool_gradient_with_sums<T>(shape, relu, stream, args);
        },
        static_cast<std::size_t>(parts * shape.channels) * sizeof(float));
  });
}

}  // namespace

void add_max_pool2d_gradient_kernels(KernelRegistry& registry) {
  registry.add<ops::MaxPool2dGradient>(make_max_pool_gradient);
  registry.add<MaxPool2dGradientWithSums>(make_max_pool_gradient_with_sums);
}

}  // namespace mirrortrain::cuda
