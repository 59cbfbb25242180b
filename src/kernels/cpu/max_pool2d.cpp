#include <limits>

#include "kernels/cpu/max_pool2d_halving.h"
#include "kernels/cpu/pool2d.h"

namespace mirrortrain::cpu {
namespace {

/// The maxima of one window over a block of channels; x is the image's first element of the block.
template <class T>
void window_maxima(const PoolShape& s, const T* x, std::int64_t out_y, std::int64_t out_x, std::int64_t count,
                   float* best, std::int32_t* position) {
  const Range lines = lines_of(s, out_y), columns = columns_of(s, out_x);
  const std::int64_t top = out_y * s.stride_height - s.pad_top, left = out_x * s.stride_width - s.pad_left;
  const auto number = [&](std::int64_t line, std::int64_t column) {
    return static_cast<std::int32_t>((line - top) * s.window_width + (column - left));
  };
  for (std::int64_t c = 0; c < count; ++c) {
    best[c] = -std::numeric_limits<float>::infinity();
    position[c] = number(lines.begin, columns.begin);  // for a window of -infinity only
  }
  for (std::int64_t line = lines.begin; line < lines.end; ++line) {
    for (std::int64_t column = columns.begin; column < columns.end; ++column) {
      const T* from = x + (line * s.width + column) * s.channels;
      const std::int32_t at = number(line, column);
      for (std::int64_t c = 0; c < count; ++c) {
        const float value = from[c];
        const bool better = value > best[c] || value != value;
        best[c] = better ? value : best[c];
        position[c] = better ? at : position[c];
      }
    }
  }
}

template <class T>
void max_pool(const PoolShape& s, bool relu, int threads, const T* x, T* y, std::uint8_t* positions) {
  const float floor = relu ? 0.0f : -std::numeric_limits<float>::infinity();
  for_cells(threads, s.rows, s.out_height, s.out_width, s.channels,
            [&](std::int64_t row, std::int64_t out_y, std::int64_t out_x, std::int64_t first, std::int64_t count) {
              float best[kBlock];
              std::int32_t position[kBlock];
              window_maxima(s, x + row * s.input_row() + first, out_y, out_x, count, best, position);
              const std::int64_t at = row * s.output_row() + (out_y * s.out_width + out_x) * s.channels + first;
              if (y != nullptr) {
                for (std::int64_t c = 0; c < count; ++c) y[at + c] = T(best[c] < floor ? floor : best[c]);
              }
              if (positions != nullptr) {
                for (std::int64_t c = 0; c < count; ++c) positions[at + c] = static_cast<std::uint8_t>(position[c]);
              }
            });
}

/// Each input gathers from the windows that contain it, so that it is written once and the order of its sum is fixed.
template <class T>
void max_pool_gradient(const PoolShape& s, int threads, const T* dy, const std::uint8_t* positions, const T* y, T* dx) {
  for_cells(threads, s.rows, s.height, s.width, s.channels,
            [&](std::int64_t row, std::int64_t line, std::int64_t column, std::int64_t first, std::int64_t count) {
              float sum[kBlock] = {};
              for_covering(s, line, column, [&](std::int64_t out_y, std::int64_t out_x, std::int64_t number) {
                const std::int64_t at = row * s.output_row() + (out_y * s.out_width + out_x) * s.channels + first;
                for (std::int64_t c = 0; c < count; ++c) {
                  const bool passes =
                      positions[at + c] == number && (y == nullptr || static_cast<float>(y[at + c]) > 0.0f);
                  sum[c] += passes ? static_cast<float>(dy[at + c]) : 0.0f;
                }
              });
              T* to = dx + row * s.input_row() + (line * s.width + column) * s.channels + first;
              for (std::int64_t c = 0; c < count; ++c) to[c] = T(sum[c]);
            });
}

std::unique_ptr<Kernel> make_max_pool(const ops::MaxPool2d& op, const KernelSpecs& specs) {
  const PoolShape shape(op, specs.inputs[0].shape, specs.outputs[0].shape);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return loop_kernel([shape, relu = op.relu, threads = specs.threads](const KernelArgs& args) {
      const T* x = input<T>(args, 0);
      T* y = output<T>(args, 0);
      auto* positions = output<std::uint8_t>(args, 1);
      if (is_halving(shape) && y != nullptr) {
        halve(shape, relu, threads, x, y, positions);
      } else {
        max_pool(shape, relu, threads, x, y, positions);
      }
    });
  });
}

std::unique_ptr<Kernel> make_max_pool_gradient(const ops::MaxPool2dGradient& op, const KernelSpecs& specs) {
  const PoolShape shape(op, specs.outputs[0].shape, specs.inputs[0].shape);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return loop_kernel([shape, relu = op.relu, threads = specs.threads](const KernelArgs& args) {
      const auto* positions = input<std::uint8_t>(args, 1);
      const T *dy = input<T>(args, 0), *y = relu ? input<T>(args, 2) : nullptr;
      const auto gradient = is_halving(shape) ? halve_gradient<T> : max_pool_gradient<T>;
      gradient(shape, threads, dy, positions, y, output<T>(args, 0));
    });
  });
}

}  // namespace

void add_max_pool2d_kernels(KernelRegistry& registry) {
  registry.add<ops::MaxPool2d>(make_max_pool);
  registry.add<ops::MaxPool2dGradient>(make_max_pool_gradient);
}

}  // namespace mirrortrain::cpu
