#include "kernels/cpu/pool2d.h"

#include "kernels/cpu/registry.h"

namespace mirrortrain::cpu {

PoolAxis::PoolAxis(std::int64_t input_size, std::int64_t output_size, std::int64_t window_size, std::int64_t strides,
                   ops::Padding padding)
    : input(input_size),
      output(output_size),
      window(window_size),
      stride(strides),
      pad(ops::window_axis(input, window, stride, 1, padding).pad_before) {
  for (std::int64_t out = 0; out < output; ++out) {
    const std::int64_t first = out * stride - pad;
    seen.push_back({std::max<std::int64_t>(0, first), std::min(input, first + window)});
  }
  for (std::int64_t in = 0; in < input; ++in) {
    const std::int64_t before = in + pad - window;
    seeing.push_back({before < 0 ? 0 : before / stride + 1, std::min(output, (in + pad) / stride + 1)});
  }
}

PoolShape::PoolShape(const ops::Pool2dAttributes& pool, const Shape& in, const Shape& out)
    : rows(in[0]),
      channels(in[3]),
      lines(in[1], out[1], pool.pool_size[0], pool.strides[0], pool.padding),
      columns(in[2], out[2], pool.pool_size[1], pool.strides[1], pool.padding) {}

void add_pool2d_kernels(KernelRegistry& registry) {
  add_max_pool2d_kernels(registry);
  add_average_pool2d_kernels(registry);
}

}  // namespace mirrortrain::cpu
