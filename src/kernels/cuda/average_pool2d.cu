#include "kernels/cuda/custom_kernels.h"
#include "kernels/cuda/pool2d.h"
#include "kernels/cuda/stream_kernel.h"

namespace mirrortrain::cuda {
namespace {

template <int kCount, class T>
__global__ void __launch_bounds__(kBlock) average_pool(PoolShape s, const T* x, T* y) {
  each_cell<kCount>(s.rows, s.lines.output, s.columns.output, s.channels, [&](const Cell& out) {
    const Range lines = s.lines.seen(out.y), columns = s.columns.seen(out.x);
    const float share = s.share(out.y, out.x);
    float sum[kCount] = {}, value[kCount];
    for (int line = lines.begin; line < lines.end; ++line) {
      for (int column = columns.begin; column < columns.end; ++column) {
        load(value, x + s.input_cell(out.row, line, column) + out.channel, kCount, true);
        for (int i = 0; i < kCount; ++i) sum[i] += value[i];
      }
    }
    for (float& one : sum) one *= share;
    store(y + out.offset, sum, kCount, true);
  });
}

template <int kCount, class T>
__global__ void __launch_bounds__(kBlock) average_pool_gradient(PoolShape s, const T* dy, T* dx) {
  each_cell<kCount>(s.rows, s.lines.input, s.columns.input, s.channels, [&](const Cell& in) {
    float sum[kCount] = {}, value[kCount];
    each_seeing(s, in, s.lines.seeing(in.y), s.columns.seeing(in.x), [&](int out_y, int out_x, std::int64_t offset) {
      const float share = s.share(out_y, out_x);
      load(value, dy + offset, kCount, true);
      for (int i = 0; i < kCount; ++i) sum[i] += value[i] * share;
    });
    store(dx + in.offset, sum, kCount, true);
  });
}

/// An image's cells are divided among `strands` threads, as many as the packs of channels leave idle; their sums are
/// added in order.
template <int kCount, class T>
__global__ void __launch_bounds__(kBlock)
    global_average(std::int64_t rows, std::int64_t cells, std::int64_t channels, const T* x, T* y) {
  float* shared = shared_memory<float>();
  const std::int64_t packs = channels / kCount, pack_blocks = (packs + blockDim.x - 1) / blockDim.x;
  const float share = 1.0f / static_cast<float>(cells);
  for (std::int64_t block = blockIdx.x; block < rows * pack_blocks; block += gridDim.x) {
    const Division place = divide(block, pack_blocks);
    const std::int64_t channel = (place.rest * blockDim.x + threadIdx.x) * kCount;
    float sum[kCount] = {}, value[kCount];
    for (std::int64_t cell = threadIdx.y; cell < cells && channel < channels; cell += blockDim.y) {
      load(value, x + (place.quotient * cells + cell) * channels + channel, kCount, true);
      for (int i = 0; i < kCount; ++i) sum[i] += value[i];
    }
    float* own = shared + (threadIdx.y * blockDim.x + threadIdx.x) * kCount;
    for (int i = 0; i < kCount; ++i) own[i] = sum[i];
    __syncthreads();
    if (threadIdx.y == 0 && channel < channels) {
      for (unsigned strand = 1; strand < blockDim.y; ++strand) {
        for (int i = 0; i < kCount; ++i) sum[i] += own[strand * blockDim.x * kCount + static_cast<unsigned>(i)];
      }
      for (float& one : sum) one *= share;
      store(y + place.quotient * channels + channel, sum, kCount, true);
    }
    __syncthreads();
  }
}

template <int kCount, class T>
__global__ void __launch_bounds__(kBlock)
    global_average_gradient(std::int64_t rows, std::int64_t cells, std::int64_t channels, const T* dy, T* dx) {
  const float share = 1.0f / static_cast<float>(cells);
  each_cell<kCount>(rows, 1, cells, channels, [&](const Cell& in) {
    float value[kCount];
    load(value, dy + in.row * channels + in.channel, kCount, true);
    for (float& one : value) one *= share;
    store(dx + in.offset, value, kCount, true);
  });
}

std::unique_ptr<Kernel> make_average_pool(const ops::AveragePool2d& op, const KernelSpecs& specs) {
  const PoolShape shape(op, specs.inputs[0].shape, specs.outputs[0].shape);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return stream_kernel([shape](Stream& stream, const KernelArgs& args) {
      const T* x = input<T>(args, 0);
      T* y = output<T>(args, 0);
      with_pack<T>(shape.channels % kPackOf<T> == 0 && in_packs(x, y), [&]<class Count>(Count) {
        launch(stream, blocks_for(shape.outputs() / Count::value), kBlock, 0, average_pool<Count::value, T>, shape, x,
               y);
      });
    });
  });
}

std::unique_ptr<Kernel> make_average_pool_gradient(const ops::AveragePool2dGradient& op, const KernelSpecs& specs) {
  const PoolShape shape(op, specs.outputs[0].shape, specs.inputs[0].shape);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return stream_kernel([shape](Stream& stream, const KernelArgs& args) {
      const T* dy = input<T>(args, 0);
      T* dx = output<T>(args, 0);
      with_pack<T>(shape.channels % kPackOf<T> == 0 && in_packs(dy, dx), [&]<class Count>(Count) {
        launch(stream, blocks_for(shape.inputs() / Count::value), kBlock, 0, average_pool_gradient<Count::value, T>,
               shape, dy, dx);
      });
    });
  });
}

std::unique_ptr<Kernel> make_global_average(const ops::GlobalAveragePool2d& op, const KernelSpecs& specs) {
  const Shape& image = specs.inputs[0].shape;
  const std::int64_t rows = image[0], cells = image[1] * image[2], channels = image[3];
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return stream_kernel([=](Stream& stream, const KernelArgs& args) {
      const T* x = input<T>(args, 0);
      T* y = output<T>(args, 0);
      with_pack<T>(channels % kPackOf<T> == 0 && in_packs(x, y), [&]<class Count>(Count) {
        const std::int64_t packs = channels / Count::value;
        unsigned width = 1;
        while (width < packs && width < kWarpSize) width *= 2;
        const std::int64_t blocks = std::min(rows * ((packs + width - 1) / width), max_blocks());
        launch(stream, static_cast<unsigned>(blocks), dim3(width, kBlock / width),
               kBlock * Count::value * sizeof(float), global_average<Count::value, T>, rows, cells, channels, x, y);
      });
    });
  });
}

std::unique_ptr<Kernel> make_global_average_gradient(const ops::GlobalAveragePool2dGradient& op,
                                                     const KernelSpecs& specs) {
  const Shape& image = specs.outputs[0].shape;
  const std::int64_t rows = image[0], cells = image[1] * image[2], channels = image[3];
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return stream_kernel([=](Stream& stream, const KernelArgs& args) {
      const T* dy = input<T>(args, 0);
      T* dx = output<T>(args, 0);
      with_pack<T>(channels % kPackOf<T> == 0 && in_packs(dy, dx), [&]<class Count>(Count) {
        launch(stream, blocks_for(rows * cells * channels / Count::value), kBlock, 0,
               global_average_gradient<Count::value, T>, rows, cells, channels, dy, dx);
      });
    });
  });
}

}  // namespace

void add_average_pool2d_kernels(KernelRegistry& registry) {
  registry.add<ops::AveragePool2d>(make_average_pool);
  registry.add<ops::AveragePool2dGradient>(make_average_pool_gradient);
  registry.add<ops::GlobalAveragePool2d>(make_global_average);
  registry.add<ops::GlobalAveragePool2dGradient>(make_global_average_gradient);
}

}  // namespace mirrortrain::cuda
