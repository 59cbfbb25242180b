#include "graph/ops/batch_norm.h"
#include "kernels/cuda/batch_norm.h"
#include "kernels/cuda/custom_kernels.h"
#include "kernels/cuda/stream_kernel.h"

namespace mirrortrain::cuda {
namespace {

template <int kCount>
__device__ void load_scale(float (&scale)[kCount], const ChannelScale& from, std::int64_t channel) {
  load_channels(scale, from.factor, channel, 1.0f);
  if (from.variance == nullptr) return;
  for (int i = 0; i < kCount; ++i) scale[i] /= sqrtf(from.variance[channel + i] + from.epsilon);
}

template <int kCount, class T>
__global__ void __launch_bounds__(kBlock)
    normalize_cells(Cells shape, ops::Rectifier relu, const T* x, const float* mean, ChannelScale scales,
                    const float* beta, const T* added, T* y) {
  const std::int64_t channel = channel_of_thread<kCount>();
  if (channel >= shape.channels) return;
  float value[kCount], middle[kCount], scale[kCount], shift[kCount], other[kCount] = {};
  load_channels(middle, mean, channel);
  load_scale(scale, scales, channel);
  load_channels(shift, beta, channel);
#pragma unroll 2
  for (std::int64_t cell = first_cell(); cell < shape.cells; cell += cell_step()) {
    const std::int64_t at = cell * shape.channels + channel;
    load(value, x + at, kCount, true);
    if (added != nullptr) load(other, added + at, kCount, true);
    for (int i = 0; i < kCount; ++i) {
      const float normalized = (value[i] - middle[i]) * scale[i] + shift[i] + other[i];
      const float floored = relu.on && normalized < 0.0f ? 0.0f : normalized;
      value[i] = floored > relu.most ? relu.most : floored;
    }
    store(y + at, value, kCount, true);
  }
}

/// dx = scale dy where relu or relu6 passes it; `y` is null where there was none.
template <int kCount, class T>
__global__ void __launch_bounds__(kBlock)
    scale_gradient(Cells shape, const T* dy, ChannelScale scales, const T* y, float most, T* dx) {
  const std::int64_t channel = channel_of_thread<kCount>();
  if (channel >= shape.channels) return;
  float gradient[kCount], scale[kCount], output[kCount] = {};
  load_scale(scale, scales, channel);
#pragma unroll 2
  for (std::int64_t cell = first_cell(); cell < shape.cells; cell += cell_step()) {
    const std::int64_t at = cell * shape.channels + channel;
    load(gradient, dy + at, kCount, true);
    if (y != nullptr) load(output, y + at, kCount, true);
    for (int i = 0; i < kCount; ++i) {
      gradient[i] = scale[i] * (y == nullptr ? gradient[i] : rectified(gradient[i], output[i], most));
    }
    store(dx + at, gradient, kCount, true);
  }
}

std::unique_ptr<Kernel> make_inference(const ops::BatchNormInference& op, const KernelSpecs& specs) {
  const Cells shape(specs.inputs[0]);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return stream_kernel([shape, epsilon = op.epsilon, relu = op.relu](Stream& stream, const KernelArgs& args) {
      normalize(stream, shape, relu, input<T>(args, 0), input<float>(args, 3),
                {input<float>(args, 1), input<float>(args, 4), epsilon}, input<float>(args, 2),
                static_cast<const T*>(nullptr), output<T>(args, 0));
    });
  });
}

std::unique_ptr<Kernel> make_inference_gradient(const ops::BatchNormInferenceGradient& op, const KernelSpecs& specs) {
  const Cells shape(specs.inputs[0]);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return stream_kernel([shape, epsilon = op.epsilon, relu = op.relu](Stream& stream, const KernelArgs& args) {
      const T *dy = input<T>(args, 0), *y = relu ? input<T>(args, 3) : nullptr;
      T* dx = output<T>(args, 0);
      const ChannelScale scale{input<float>(args, 1), input<float>(args, 2), epsilon};
      with_pack<T>(shape.channels % kPackOf<T> == 0 && in_packs(dy, y, dx), [&]<class Count>(Count) {
        const ChannelBlocks blocks(shape.channels, Count::value);
        launch(stream, blocks.grid_of_loops(shape.cells), blocks.block(), 0, scale_gradient<Count::value, T>, shape, dy,
               scale, y, relu.most, dx);
      });
    });
  });
}

}  // namespace

template <class T>
void normalize(Stream& stream, const Cells& shape, ops::Rectifier relu, const T* x, const float* mean,
               const ChannelScale& scale, const float* beta, const T* added, T* y) {
  with_pack<T>(shape.channels % kPackOf<T> == 0 && in_packs(x, added, y), [&]<class Count>(Count) {
    const ChannelBlocks blocks(shape.channels, Count::value);
    launch(stream, blocks.grid_of_loops(shape.cells), blocks.block(), 0, normalize_cells<Count::value, T>, shape, relu,
           x, mean, scale, beta, added, y);
  });
}
template void normalize<float>(Stream&, const Cells&, ops::Rectifier, const float*, const float*, const ChannelScale&,
                               const float*, const float*, float*);
template void normalize<bfloat16>(Stream&, const Cells&, ops::Rectifier, const bfloat16*, const float*,
                                  const ChannelScale&, const float*, const bfloat16*, bfloat16*);

void add_batch_norm_inference_kernels(KernelRegistry& registry) {
  registry.add<ops::BatchNormInference>(make_inference);
  registry.add<ops::BatchNormInferenceGradient>(make_inference_gradient);
}

}  // namespace mirrortrain::cuda
