#include "graph/ops/mask.h"
#include "kernels/cuda/custom_kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/mask_count.h"
#include "kernels/cuda/pack.h"
#include "kernels/cuda/reduce.h"
#include "kernels/cuda/stream_kernel.h"

namespace mirrortrain::cuda {
namespace {

/// `numbers` null: everything counts.
__global__ void __launch_bounds__(kBlock) padding_mask(std::int64_t count, const float* numbers, float* mask) {
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    mask[i] = numbers == nullptr || numbers[i] != 0 ? 1.0f : 0.0f;
  }
}

__global__ void __launch_bounds__(kBlock)
    label_mask(std::int64_t count, const std::int32_t* labels, std::int32_t ignored, float* mask) {
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) mask[i] = labels[i] != ignored ? 1.0f : 0.0f;
}

/// One block.
__global__ void __launch_bounds__(kBlock) mask_count(std::int64_t count, const float* mask, double* total) {
  double own = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += kBlock) own += mask[i] != 0 ? 1.0 : 0.0;
  own = block_sum(own);
  if (threadIdx.x == 0) *total = own;
}

/// Sequences of [steps, channels] with their masks.
struct Sequences {
  std::int64_t rows, steps, channels;

  /// `x` is [rows, steps, channels].
  explicit Sequences(const Shape& x) : rows(x[0]), steps(x[1]), channels(x[2]) {}

  /// 1 / the time steps of a row that count.
  __device__ float share(const float* mask, std::int64_t row) const {
    std::int64_t counted = 0;
    for (std::int64_t step = 0; step < steps; ++step) counted += mask[row * steps + step] != 0 ? 1 : 0;
    return 1.0f / static_cast<float>(counted);
  }
};

/// A thread processes a channel of a row.
template <class T>
__global__ void __launch_bounds__(kBlock) masked_mean(Sequences s, const T* x, const float* mask, T* y) {
  for (std::int64_t i = grid_thread(); i < s.rows * s.channels; i += grid_threads()) {
    const Division place = divide(i, s.channels);
    float sum = 0;
    for (std::int64_t step = place.quotient * s.steps; step < (place.quotient + 1) * s.steps; ++step) {
      if (mask[step] != 0) sum += static_cast<float>(x[step * s.channels + place.rest]);
    }
    y[i] = T(sum * s.share(mask, place.quotient));
  }
}

template <class T>
__global__ void __launch_bounds__(kBlock) masked_mean_gradient(Sequences s, const T* dy, const float* mask, T* dx) {
  for (std::int64_t i = grid_thread(); i < s.rows * s.channels; i += grid_threads()) {
    const Division place = divide(i, s.channels);
    const T value(static_cast<float>(dy[i]) * s.share(mask, place.quotient));
    for (std::int64_t step = place.quotient * s.steps; step < (place.quotient + 1) * s.steps; ++step) {
      dx[step * s.channels + place.rest] = mask[step] != 0 ? value : T(0.0f);
    }
  }
}

/// `counted` or `other` null: `fill`.
template <class T>
__global__ void __launch_bounds__(kBlock) select(std::int64_t count, std::int64_t channels, const float* mask,
                                                 const T* counted, const T* other, T fill, T* y) {
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    const T* const from = mask[divide(i, channels).quotient] != 0 ? counted : other;
    y[i] = from != nullptr ? from[i] : fill;
  }
}

std::unique_ptr<Kernel> make_padding_mask(const ops::PaddingMask&, const KernelSpecs& specs) {
  return stream_kernel([count = specs.outputs[0].elements()](Stream& stream, const KernelArgs& args) {
    launch(stream, blocks_for(count), kBlock, 0, padding_mask, count, input<float>(args, 0), output<float>(args, 0));
  });
}

std::unique_ptr<Kernel> make_label_mask(const ops::LabelMask& op, const KernelSpecs& specs) {
  return stream_kernel(
      [count = specs.outputs[0].elements(), ignored = op.ignored](Stream& stream, const KernelArgs& args) {
        launch(stream, blocks_for(count), kBlock, 0, label_mask, count, input<std::int32_t>(args, 0), ignored,
               output<float>(args, 0));
      });
}

std::unique_ptr<Kernel> make_full_mask(const ops::FullMask&, const KernelSpecs& specs) {
  return stream_kernel([count = specs.outputs[0].elements()](Stream& stream, const KernelArgs& args) {
    launch(stream, blocks_for(count), kBlock, 0, padding_mask, count, static_cast<const float*>(nullptr),
           output<float>(args, 0));
  });
}

std::unique_ptr<Kernel> make_mask_count(const ops::MaskCount&, const KernelSpecs& specs) {
  return stream_kernel([count = specs.inputs[0].elements()](Stream& stream, const KernelArgs& args) {
    count_mask(stream, count, input<float>(args, 0), output<double>(args, 0));
  });
}

std::unique_ptr<Kernel> make_masked_mean(const ops::MaskedMean& op, const KernelSpecs& specs) {
  const Sequences s(specs.inputs[0].shape);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return stream_kernel([s](Stream& stream, const KernelArgs& args) {
      launch(stream, blocks_for(s.rows * s.channels), kBlock, 0, masked_mean<T>, s, input<T>(args, 0),
             input<float>(args, 1), output<T>(args, 0));
    });
  });
}

std::unique_ptr<Kernel> make_masked_mean_gradient(const ops::MaskedMeanGradient& op, const KernelSpecs& specs) {
  const Sequences s(specs.outputs[0].shape);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return stream_kernel([s](Stream& stream, const KernelArgs& args) {
      launch(stream, blocks_for(s.rows * s.channels), kBlock, 0, masked_mean_gradient<T>, s, input<T>(args, 0),
             input<float>(args, 1), output<T>(args, 0));
    });
  });
}

std::unique_ptr<Kernel> make_select(const ops::Select& op, const KernelSpecs& specs) {
  const std::int64_t count = specs.outputs[0].elements(), channels = specs.outputs[0].shape.back();
  return for_float_type(op, specs.outputs[0].dtype, [&]<class T>(T) {
    return stream_kernel([count, channels, fill = T(op.fill)](Stream& stream, const KernelArgs& args) {
      launch(stream, blocks_for(count), kBlock, 0, select<T>, count, channels, input<float>(args, 0), input<T>(args, 1),
             input<T>(args, 2), fill, output<T>(args, 0));
    });
  });
}

}  // namespace

void count_mask(Stream& stream, std::int64_t count, const float* mask, double* total) {
  launch(stream, 1u, kBlock, 0, mask_count, count, mask, total);
}

void add_mask_kernels(KernelRegistry& registry) {
  registry.add<ops::PaddingMask>(make_padding_mask);
  registry.add<ops::LabelMask>(make_label_mask);
  registry.add<ops::FullMask>(make_full_mask);
  registry.add<ops::MaskCount>(make_mask_count);
  registry.add<ops::MaskedMean>(make_masked_mean);
  registry.add<ops::MaskedMeanGradient>(make_masked_mean_gradient);
  registry.add<ops::Select>(make_select);
}

}  // namespace mirrortrain::cuda
