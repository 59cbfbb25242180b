#include "kernels/cpu/pool2d.h"
#include "kernels/cpu/registry.h"

namespace mirrortrain::cpu {
namespace {

std::unique_ptr<Kernel> make_global_max(const ops::GlobalMaxPool2d& op, const KernelSpecs& specs) {
  const Shape& image = specs.inputs[0].shape;
  const std::int64_t rows = image[0], cells = image[1] * image[2], channels = image[3];
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return loop_kernel([=, threads = specs.threads](const KernelArgs& args) {
      const T* x = input<T>(args, 0);
      T* y = output<T>(args, 0);
      parallel_for(threads, rows, rows_per_thread(cells * channels), [=](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
          each_vector(channels, [&](std::int64_t c, auto part) {
            const T* from = x + row * cells * channels + c;
            Maximum maximum(get(from, part));
            for (std::int64_t cell = 1; cell < cells; ++cell) maximum.take(get(from + cell * channels, part), 0);
            put(y + row * channels + c, maximum.value, part);
          });
        }
      });
    });
  });
}

std::unique_ptr<Kernel> make_global_max_gradient(const ops::GlobalMaxPool2dGradient& op, const KernelSpecs& specs) {
  const Shape& image = specs.inputs[1].shape;
  const std::int64_t rows = image[0], cells = image[1] * image[2], channels = image[3];
  return for_float_type(op, specs.inputs[1].dtype, [&]<class T>(T) {
    return loop_kernel([=, threads = specs.threads](const KernelArgs& args) {
      const T *dy = input<T>(args, 0), *x = input<T>(args, 1), *y = input<T>(args, 2);
      T* dx = output<T>(args, 0);
      parallel_for(threads, rows, rows_per_thread(cells * channels), [=](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
          each_vector(channels, [&](std::int64_t c, auto part) {
            const std::int64_t at = row * cells * channels + c, of_row = row * channels + c;
            const Vec maximum = get(y + of_row, part);
            Vec equals{};
            for (std::int64_t cell = 0; cell < cells; ++cell) {
              equals += get(x + at + cell * channels, part) == maximum ? broadcast(1) : Vec{};
            }
            const Vec share = get(dy + of_row, part) / equals;
            for (std::int64_t cell = 0; cell < cells; ++cell) {
              const std::int64_t i = at + cell * channels;
              put(dx + i, get(x + i, part) == maximum ? share : Vec{}, part);
            }
          });
        }
      });
    });
  });
}

}  // namespace

void add_global_max_pool2d_kernels(KernelRegistry& registry) {
  registry.add<ops::GlobalMaxPool2d>(make_global_max);
  registry.add<ops::GlobalMaxPool2dGradient>(make_global_max_gradient);
}

}  // namespace mirrortrain::cpu
