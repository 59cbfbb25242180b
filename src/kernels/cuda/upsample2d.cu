#include "kernels/cuda/custom_kernels.h"
#include "kernels/cuda/pool2d.h"
#include "kernels/cuda/stream_kernel.h"
#include "kernels/scalar/upsample2d.h"

namespace mirrortrain::cuda {
namespace {

using scalar::UpsampleShape;

template <int kCount, class T>
__global__ void __launch_bounds__(kBlock) upsample(UpsampleShape s, const T* x, T* y) {
  each_cell<kCount>(s.rows, s.lines.output(), s.columns.output(), s.channels, [&](const Cell& out) {
    float sum[kCount] = {}, value[kCount];
    scalar::each_source(s, out, [&](float share, std::int64_t at) {
      load(value, x + at, kCount, true);
      for (int i = 0; i < kCount; ++i) sum[i] += value[i] * share;
    });
    store(y + out.offset, sum, kCount, true);
  });
}

template <int kCount, class T>
__global__ void __launch_bounds__(kBlock) upsample_gradient(UpsampleShape s, const T* dy, T* dx) {
  each_cell<kCount>(s.rows, s.lines.input, s.columns.input, s.channels, [&](const Cell& in) {
    float sum[kCount] = {}, value[kCount];
    scalar::each_made_of(s, in, [&](float share, std::int64_t at) {
      load(value, dy + at, kCount, true);
      for (int i = 0; i < kCount; ++i) sum[i] += value[i] * share;
    });
    store(dx + in.offset, sum, kCount, true);
  });
}

std::unique_ptr<Kernel> make_upsample(const ops::Upsample2d& op, const KernelSpecs& specs) {
  const UpsampleShape s(op, specs.inputs[0].shape);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return stream_kernel([s](Stream& stream, const KernelArgs& args) {
      const T* x = input<T>(args, 0);
      T* y = output<T>(args, 0);
      with_pack<T>(s.channels % kPackOf<T> == 0 && in_packs(x, y), [&]<class Count>(Count) {
        launch(stream, blocks_for(s.outputs() / Count::value), kBlock, 0, upsample<Count::value, T>, s, x, y);
      });
    });
  });
}

std::unique_ptr<Kernel> make_upsample_gradient(const ops::Upsample2dGradient& op, const KernelSpecs& specs) {
  const UpsampleShape s(op, specs.outputs[0].shape);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return stream_kernel([s](Stream& stream, const KernelArgs& args) {
      const T* dy = input<T>(args, 0);
      T* dx = output<T>(args, 0);
      with_pack<T>(s.channels % kPackOf<T> == 0 && in_packs(dy, dx), [&]<class Count>(Count) {
        launch(stream, blocks_for(s.inputs() / Count::value), kBlock, 0, upsample_gradient<Count::value, T>, s, dy, dx);
      });
    });
  });
}

}  // namespace

void add_upsample2d_kernels(KernelRegistry& registry) {
  registry.add<ops::Upsample2d>(make_upsample);
  registry.add<ops::Upsample2dGradient>(make_upsample_gradient);
}

}  // namespace mirrortrain::cuda
