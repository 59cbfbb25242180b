#include "kernels/cpu/pool2d.h"

namespace mirrortrain::cpu {
namespace {

/// Elements of a window that lie inside the image.
float window_size(const PoolShape& s, std::int64_t out_y, std::int64_t out_x) {
  const Range lines = lines_of(s, out_y), columns = columns_of(s, out_x);
  return static_cast<float>((lines.end - lines.begin) * (columns.end - columns.begin));
}

template <class T>
void average_pool(const PoolShape& s, int threads, const T* x, T* y) {
  for_cells(threads, s.rows, s.out_height, s.out_width, s.channels,
            [&](std::int64_t row, std::int64_t out_y, std::int64_t out_x, std::int64_t first, std::int64_t count) {
              const Range lines = lines_of(s, out_y), columns = columns_of(s, out_x);
              float sum[kBlock] = {};
              for (std::int64_t line = lines.begin; line < lines.end; ++line) {
                for (std::int64_t column = columns.begin; column < columns.end; ++column) {
                  const T* from = x + row * s.input_row() + (line * s.width + column) * s.channels + first;
                  for (std::int64_t c = 0; c < count; ++c) sum[c] += static_cast<float>(from[c]);
                }
              }
              const float share = 1.0f / window_size(s, out_y, out_x);
              T* to = y + row * s.output_row() + (out_y * s.out_width + out_x) * s.channels + first;
              for (std::int64_t c = 0; c < count; ++c) to[c] = T(sum[c] * share);
            });
}

template <class T>
void average_pool_gradient(const PoolShape& s, int threads, const T* dy, T* dx) {
  for_cells(threads, s.rows, s.height, s.width, s.channels,
            [&](std::int64_t row, std::int64_t line, std::int64_t column, std::int64_t first, std::int64_t count) {
              float sum[kBlock] = {};
              for_covering(s, line, column, [&](std::int64_t out_y, std::int64_t out_x, std::int64_t) {
                const float share = 1.0f / window_size(s, out_y, out_x);
                const T* from = dy + row * s.output_row() + (out_y * s.out_width + out_x) * s.channels + first;
                for (std::int64_t c = 0; c < count; ++c) sum[c] += static_cast<float>(from[c]) * share;
              });
              T* to = dx + row * s.input_row() + (line * s.width + column) * s.channels + first;
              for (std::int64_t c = 0; c < count; ++c) to[c] = T(sum[c]);
            });
}

/// Sums per line of the image first, then over lines, which keeps the rounding small.
template <class T>
void global_average(const Shape& image, int threads, const T* x, T* y) {
  const std::int64_t rows = image[0], height = image[1], width = image[2], channels = image[3];
  const float share = 1.0f / static_cast<float>(height * width);
  for_cells(threads, rows, 1, 1, channels,
            [&](std::int64_t row, std::int64_t, std::int64_t, std::int64_t first, std::int64_t count) {
              float sum[kBlock] = {};
              const T* from = x + row * height * width * channels + first;
              for (std::int64_t line = 0; line < height; ++line) {
                float line_sum[kBlock] = {};
                for (std::int64_t column = 0; column < width; ++column, from += channels) {
                  for (std::int64_t c = 0; c < count; ++c) line_sum[c] += static_cast<float>(from[c]);
                }
                for (std::int64_t c = 0; c < count; ++c) sum[c] += line_sum[c];
              }
              T* to = y + row * channels + first;
              for (std::int64_t c = 0; c < count; ++c) to[c] = T(sum[c] * share);
            });
}

template <class T>
void global_average_gradient(const Shape& image, int threads, const T* dy, T* dx) {
  const std::int64_t rows = image[0], cells = image[1] * image[2], channels = image[3];
  const float share = 1.0f / static_cast<float>(cells);
  for_cells(threads, rows, 1, cells, channels,
            [&](std::int64_t row, std::int64_t, std::int64_t cell, std::int64_t first, std::int64_t count) {
              const T* from = dy + row * channels + first;
              T* to = dx + (row * cells + cell) * channels + first;
              for (std::int64_t c = 0; c < count; ++c) to[c] = T(static_cast<float>(from[c]) * share);
            });
}

std::unique_ptr<Kernel> make_average_pool(const ops::AveragePool2d& op, const KernelSpecs& specs) {
  const PoolShape shape(op, specs.inputs[0].shape, specs.outputs[0].shape);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return loop_kernel([shape, threads = specs.threads](const KernelArgs& args) {
      average_pool(shape, threads, input<T>(args, 0), output<T>(args, 0));
    });
  });
}

std::unique_ptr<Kernel> make_average_pool_gradient(const ops::AveragePool2dGradient& op, const KernelSpecs& specs) {
  const PoolShape shape(op, specs.outputs[0].shape, specs.inputs[0].shape);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return loop_kernel([shape, threads = specs.threads](const KernelArgs& args) {
      average_pool_gradient(shape, threads, input<T>(args, 0), output<T>(args, 0));
    });
  });
}

std::unique_ptr<Kernel> make_global_average(const ops::GlobalAveragePool2d& op, const KernelSpecs& specs) {
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return loop_kernel([image = specs.inputs[0].shape, threads = specs.threads](const KernelArgs& args) {
      global_average(image, threads, input<T>(args, 0), output<T>(args, 0));
    });
  });
}

std::unique_ptr<Kernel> make_global_average_gradient(const ops::GlobalAveragePool2dGradient& op,
                                                     const KernelSpecs& specs) {
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return loop_kernel([image = specs.outputs[0].shape, threads = specs.threads](const KernelArgs& args) {
      global_average_gradient(image, threads, input<T>(args, 0), output<T>(args, 0));
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

}  // namespace mirrortrain::cpu
