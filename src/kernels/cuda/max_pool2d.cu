#include "kernels/cuda/custom_kernels.h"
#include "kernels/cuda/pool2d.h"
#include "kernels/cuda/stream_kernel.h"

namespace mirrortrain::cuda {
namespace {

/// The first of the largest values and its position; NaN propagates. Either output may be null.
template <int kCount, class T>
__global__ void __launch_bounds__(kBlock) max_pool(PoolShape s, bool relu, const T* x, T* y, std::uint8_t* positions) {
  each_cell<kCount>(s.rows, s.lines.output, s.columns.output, s.channels, [&](const Cell& out) {
    const Range lines = s.lines.seen(out.y), columns = s.columns.seen(out.x);
    const int first = s.number(out.y, out.x, lines.begin, columns.begin);
    float largest[kCount], value[kCount];
    int position[kCount];
    for (int i = 0; i < kCount; ++i) {
      largest[i] = -INFINITY;
      position[i] = first;
    }
    for (int line = lines.begin; line < lines.end; ++line) {
      for (int column = columns.begin; column < columns.end; ++column) {
        const int number = s.number(out.y, out.x, line, column);
        load(value, x + s.input_cell(out.row, line, column) + out.channel, kCount, true);
        for (int i = 0; i < kCount; ++i) {
          const bool better = (value[i] > largest[i] || value[i] != value[i]) && largest[i] == largest[i];
          largest[i] = better ? value[i] : largest[i];
          position[i] = better ? number : position[i];
        }
      }
    }
    if (y != nullptr) {
      for (float& one : largest) one = relu && one < 0.0f ? 0.0f : one;
      store(y + out.offset, largest, kCount, true);
    }
    if (positions != nullptr) {
      Pack<std::uint8_t, kCount> bytes;
      for (int i = 0; i < kCount; ++i) bytes.element[i] = static_cast<std::uint8_t>(position[i]);
      *reinterpret_cast<Pack<std::uint8_t, kCount>*>(positions + out.offset) = bytes;
    }
  });
}

std::unique_ptr<Kernel> make_max_pool(const ops::MaxPool2d& op, const KernelSpecs& specs) {
  const PoolShape shape(op, specs.inputs[0].shape, specs.outputs[0].shape);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return stream_kernel([shape, relu = op.relu](Stream& stream, const KernelArgs& args) {
      const T* x = input<T>(args, 0);
      T* y = output<T>(args, 0);
      auto* positions = output<std::uint8_t>(args, 1);
      with_pack<T>(shape.channels % kPackOf<T> == 0 && in_packs(x, y, positions), [&]<class Count>(Count) {
        launch(stream, blocks_for(shape.outputs() / Count::value), kBlock, 0, max_pool<Count::value, T>, shape, relu, x,
               y, positions);
      });
    });
  });
}

}  // namespace

void add_max_pool2d_kernels(KernelRegistry& registry) { registry.add<ops::MaxPool2d>(make_max_pool); }

}  // namespace mirrortrain::cuda
