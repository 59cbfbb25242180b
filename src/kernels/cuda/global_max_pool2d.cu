#include "graph/ops/pool2d.h"
#include "kernels/cuda/custom_kernels.h"
#include "kernels/cuda/pack.h"
#include "kernels/cuda/stream_kernel.h"

namespace mirrortrain::cuda {
namespace {

/// NaN propagates.
template <class T>
__global__ void __launch_bounds__(kBlock)
    global_max(std::int64_t rows, std::int64_t cells, std::int64_t channels, const T* x, T* y) {
  for (std::int64_t i = grid_thread(); i < rows * channels; i += grid_threads()) {
    const Division place = divide(i, channels);
    const T* from = x + place.quotient * cells * channels + place.rest;
    auto most = static_cast<float>(from[0]);
    for (std::int64_t cell = 1; cell < cells; ++cell) {
      const auto value = static_cast<float>(from[cell * channels]);
      most = value > most || value != value ? value : most;
    }
    y[i] = T(most);
  }
}

template <class T>
__global__ void __launch_bounds__(kBlock)
    global_max_gradient(std::int64_t rows, std::int64_t cells, std::int64_t channels, const T* dy, const T* x,
                        const T* y, T* dx) {
  for (std::int64_t i = grid_thread(); i < rows * channels; i += grid_threads()) {
    const Division place = divide(i, channels);
    const std::int64_t first = place.quotient * cells * channels + place.rest;
    const auto most = static_cast<float>(y[i]);
    float equals = 0;
    for (std::int64_t cell = 0; cell < cells; ++cell) {
      equals += static_cast<float>(x[first + cell * channels]) == most ? 1.0f : 0.0f;
    }
    const float share = static_cast<float>(dy[i]) / equals;
    for (std::int64_t cell = 0; cell < cells; ++cell) {
      const std::int64_t at = first + cell * channels;
      dx[at] = T(static_cast<float>(x[at]) == most ? share : 0.0f);
    }
  }
}

std::unique_ptr<Kernel> make_global_max(const ops::GlobalMaxPool2d& op, const KernelSpecs& specs) {
  const Shape& image = specs.inputs[0].shape;
  const std::int64_t rows = image[0], cells = image[1] * image[2], channels = image[3];
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return stream_kernel([=](Stream& stream, const KernelArgs& args) {
      launch(stream, blocks_for(rows * channels), kBlock, 0, global_max<T>, rows, cells, channels, input<T>(args, 0),
             output<T>(args, 0));
    });
  });
}

std::unique_ptr<Kernel> make_global_max_gradient(const ops::GlobalMaxPool2dGradient& op, const KernelSpecs& specs) {
  const Shape& image = specs.inputs[1].shape;
  const std::int64_t rows = image[0], cells = image[1] * image[2], channels = image[3];
  return for_float_type(op, specs.inputs[1].dtype, [&]<class T>(T) {
    return stream_kernel([=](Stream& stream, const KernelArgs& args) {
      launch(stream, blocks_for(rows * channels), kBlock, 0, global_max_gradient<T>, rows, cells, channels,
             input<T>(args, 0), input<T>(args, 1), input<T>(args, 2), output<T>(args, 0));
    });
  });
}

}  // namespace

void add_global_max_pool2d_kernels(KernelRegistry& registry) {
  registry.add<ops::GlobalMaxPool2d>(make_global_max);
  registry.add<ops::GlobalMaxPool2dGradient>(make_global_max_gradient);
}

}  // namespace mirrortrain::cuda
