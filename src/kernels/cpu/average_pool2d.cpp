#include "kernels/cpu/pool2d.h"
#include "kernels/cpu/simd_elements.h"

namespace mirrortrain::cpu {
namespace {

/// One over the elements of a window that lie inside the image.
float share_of(const PoolShape& s, std::int64_t out_y, std::int64_t out_x) {
  return 1.0f / static_cast<float>(s.lines.seen[static_cast<std::size_t>(out_y)].size() *
                                   s.columns.seen[static_cast<std::size_t>(out_x)].size());
}

template <class T>
void average_pool(const PoolShape& s, int threads, const T* x, T* y) {
  for_cells(threads, s.rows, s.lines.output, s.columns.output, s.channels, [&](const Cell& out) {
    const Range lines = s.lines.seen[static_cast<std::size_t>(out.y)];
    const Range columns = s.columns.seen[static_cast<std::size_t>(out.x)];
    const float share = share_of(s, out.y, out.x);
    const T* image = x + out.row * s.input_row();
    each_vector(s.channels, [&](std::int64_t c, auto part) {
      Vec sum{};
      for (std::int64_t line = lines.begin; line < lines.end; ++line) {
        const T* from = image + (line * s.columns.input + columns.begin) * s.channels + c;
        for (std::int64_t i = columns.begin; i < columns.end; ++i, from += s.channels) sum += get(from, part);
      }
      put(y + out.offset + c, sum * share, part);
    });
  });
}

template <class T>
void average_pool_gradient(const PoolShape& s, int threads, const T* dy, T* dx) {
  for_cells(threads, s.rows, s.lines.input, s.columns.input, s.channels, [&](const Cell& in) {
    each_vector(s.channels, [&](std::int64_t c, auto part) {
      Vec sum{};
      for_seeing(s, in, [&](std::int64_t out_y, std::int64_t out_x, std::int64_t offset) {
        sum += get(dy + offset + c, part) * share_of(s, out_y, out_x);
      });
      put(dx + in.offset + c, sum, part);
    });
  });
}

/// Sums per line of the image first, then over lines, which keeps the rounding small.
template <class T>
void global_average(const Shape& image, int threads, const T* x, T* y) {
  const std::int64_t height = image[1], width = image[2], channels = image[3];
  const float share = 1.0f / static_cast<float>(height * width);
  for_cells(threads, image[0], 1, 1, channels, [&](const Cell& out) {
    each_vector(channels, [&](std::int64_t c, auto part) {
      Vec sum{};
      const T* from = x + out.row * height * width * channels + c;
      for (std::int64_t line = 0; line < height; ++line) {
        Vec line_sum{};
        for (std::int64_t column = 0; column < width; ++column, from += channels) line_sum += get(from, part);
        sum += line_sum;
      }
      put(y + out.offset + c, sum * share, part);
    });
  });
}

template <class T>
void global_average_gradient(const Shape& image, int threads, const T* dy, T* dx) {
  const std::int64_t channels = image[3];
  const float share = 1.0f / static_cast<float>(image[1] * image[2]);
  for_cells(threads, image[0], image[1], image[2], channels, [&](const Cell& in) {
    const T* from = dy + in.row * channels;
    each_vector(channels,
                [&](std::int64_t c, auto part) { put(dx + in.offset + c, get(from + c, part) * share, part); });
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
