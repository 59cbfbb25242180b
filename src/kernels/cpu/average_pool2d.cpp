#include "kernels/cpu/pool2d.h"
#include "kernels/cpu/registry.h"

namespace mirrortrain::cpu {
namespace {

/// PoolShape::share by output, cached to avoid divisions.
class Shares {
 public:
  explicit Shares(const PoolShape& s) : width_(s.columns.output) {
    for (int y = 0; y < s.lines.output; ++y) {
      for (int x = 0; x < width_; ++x) shares_.push_back(s.share(y, x));
    }
  }
  float operator()(int y, int x) const { return shares_[static_cast<std::size_t>(y * width_ + x)]; }

 private:
  int width_;
  std::vector<float> shares_;
};

template <class T>
void average_pool(const PoolShape& s, const Shares& shares, int threads, const T* x, T* y) {
  for_cells(threads, s.rows, s.lines.output, s.columns.output, s.channels, [&](const Cell& out) {
    const Range lines = s.lines.seen(out.y), columns = s.columns.seen(out.x);
    const float share = shares(out.y, out.x);
    const T* image = x + s.input_cell(out.row, 0, 0);
    const std::int64_t line_step = s.columns.input * s.channels;
    each_vector(s.channels, [&](std::int64_t c, auto part) {
      Vec sum{};
      for (int line = lines.begin; line < lines.end; ++line) {
        const T* from = image + line * line_step + columns.begin * s.channels + c;
        for (int i = columns.begin; i < columns.end; ++i, from += s.channels) sum += get(from, part);
      }
      put(y + out.offset + c, sum * share, part);
    });
  });
}

template <class T>
void average_pool_gradient(const PoolShape& s, const Seeing& seeing, const Shares& shares, int threads, const T* dy,
                           T* dx) {
  for_cells(threads, s.rows, s.lines.input, s.columns.input, s.channels, [&](const Cell& in) {
    each_vector(s.channels, [&](std::int64_t c, auto part) {
      Vec sum{};
      for_seeing(s, seeing, in, [&](int out_y, int out_x, std::int64_t offset) {
        sum += get(dy + offset + c, part) * shares(out_y, out_x);
      });
      put(dx + in.offset + c, sum, part);
    });
  });
}

/// Sums each line of the image first, then over lines, to reduce rounding errors.
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
    return loop_kernel([shape, shares = Shares(shape), threads = specs.threads](const KernelArgs& args) {
      average_pool(shape, shares, threads, input<T>(args, 0), output<T>(args, 0));
    });
  });
}

std::unique_ptr<Kernel> make_average_pool_gradient(const ops::AveragePool2dGradient& op, const KernelSpecs& specs) {
  const PoolShape shape(op, specs.outputs[0].shape, specs.inputs[0].shape);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return loop_kernel(
        [shape, seeing = Seeing(shape), shares = Shares(shape), threads = specs.threads](const KernelArgs& args) {
          average_pool_gradient(shape, seeing, shares, threads, input<T>(args, 0), output<T>(args, 0));
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
