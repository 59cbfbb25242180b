#include "kernels/cpu/pool2d.h"

#include "kernels/cpu/registry.h"

namespace mirrortrain::cpu {

PoolShape::PoolShape(const ops::Pool2dAttributes& pool, const Shape& input, const Shape& output)
    : rows(input[0]),
      height(input[1]),
      width(input[2]),
      channels(input[3]),
      out_height(output[1]),
      out_width(output[2]),
      window_height(pool.pool_size[0]),
      window_width(pool.pool_size[1]),
      stride_height(pool.strides[0]),
      stride_width(pool.strides[1]),
      pad_top(ops::window_axis(height, window_height, stride_height, 1, pool.padding).pad_before),
      pad_left(ops::window_axis(width, window_width, stride_width, 1, pool.padding).pad_before) {}

namespace {

Range seen(std::int64_t out, std::int64_t stride, std::int64_t pad, std::int64_t window, std::int64_t size) {
  const std::int64_t first = out * stride - pad;
  return {std::max<std::int64_t>(0, first), std::min(size, first + window)};
}

Range seeing(std::int64_t in, std::int64_t stride, std::int64_t pad, std::int64_t window, std::int64_t outputs) {
  const std::int64_t last = (in + pad) / stride, before = in + pad - window;
  return {before < 0 ? 0 : before / stride + 1, std::min(outputs, last + 1)};
}

}  // namespace

Range lines_of(const PoolShape& s, std::int64_t out) {
  return seen(out, s.stride_height, s.pad_top, s.window_height, s.height);
}
Range columns_of(const PoolShape& s, std::int64_t out) {
  return seen(out, s.stride_width, s.pad_left, s.window_width, s.width);
}
Range lines_seeing(const PoolShape& s, std::int64_t line) {
  return seeing(line, s.stride_height, s.pad_top, s.window_height, s.out_height);
}
Range columns_seeing(const PoolShape& s, std::int64_t column) {
  return seeing(column, s.stride_width, s.pad_left, s.window_width, s.out_width);
}

void add_pool2d_kernels(KernelRegistry& registry) {
  add_max_pool2d_kernels(registry);
  add_average_pool2d_kernels(registry);
}

}  // namespace mirrortrain::cpu
