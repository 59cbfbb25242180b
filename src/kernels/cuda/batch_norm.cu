#include <type_traits>

#include "graph/ops/batch_norm.h"
#include "kernels/cuda/batch_norm_of_sums.h"
#include "kernels/cuda/batch_norm_training.h"
#include "kernels/cuda/custom_kernels.h"
#include "kernels/cuda/merge.h"
#include "kernels/cuda/stream_kernel.h"

namespace mirrortrain::cuda {
namespace {

/// Computes from the sums of deviations the outputs other than y, and the vectors mean and scale for y.
template <class T>
struct FinishStatistics {
  std::int64_t cells, channels;
  float momentum, epsilon;
  const T* x;
  const float *gamma, *moving_mean, *moving_variance;
  float *mean_of_batch, *inverse_of_batch, *new_mean, *new_variance;  ///< may be null
  float* vectors;

  __device__ void operator()(std::int64_t c, double deviations, double squares) const {
    const auto count = static_cast<double>(cells > 0 ? cells : 1);
    const double pivot = cells == 0 ? 0.0 : static_cast<double>(static_cast<float>(x[c]));
    const double offset = deviations / count;
    put_statistics(c, pivot + offset, squares / count - offset * offset);
  }

  /// `spread`: the variance, if it were never rounded below 0.
  __device__ void put_statistics(std::int64_t c, double mean, double spread) const {
    // Without rows the moving statistics are unchanged.
    const double kept = cells == 0 ? 1.0 : static_cast<double>(momentum);
    const double variance = spread > 0.0 ? spread : spread < 0.0 ? 0.0 : spread;  // NaN propagates
    const double inverse = 1.0 / sqrt(variance + static_cast<double>(epsilon));
    vectors[c] = static_cast<float>(mean);
    vectors[channels + c] = static_cast<float>(inverse) * (gamma == nullptr ? 1.0f : gamma[c]);
    put(mean_of_batch, c, mean);
    put(inverse_of_batch, c, inverse);
    put(new_mean, c, static_cast<double>(moving_mean[c]) * kept + mean * (1 - kept));
    put(new_variance, c, static_cast<double>(moving_variance[c]) * kept + variance * (1 - kept));
  }
};

/// The sums of each channel's elements and of their squares, in float, where a convolution left them.
struct GivenSums {
  std::int64_t cells;
  const float *sums, *squares;

  __device__ double mean(std::int64_t c) const { return static_cast<double>(sums[c]) / static_cast<double>(cells); }
  __device__ double mean_square(std::int64_t c) const {
    return static_cast<double>(squares[c]) / static_cast<double>(cells);
  }
  __device__ double spread(std::int64_t c) const { return mean_square(c) - mean(c) * mean(c); }

  /// Whether the mean's square leaves too few of the digits of the squares, or these were too large for float: the
  /// channel is then summed again, as deviations from its first element. Written so that it holds for NaN.
  __device__ bool operator()(std::int64_t c) const {
    const double of_squares = mean_square(c);
    return !(spread(c) >= of_squares * kLeastSpread && of_squares < INFINITY);
  }
};

/// FinishStatistics with the sums that were given, where they have digits enough.
template <class T>
struct FinishGivenSums {
  FinishStatistics<T> finish;
  GivenSums given;

  __device__ void operator()(std::int64_t c, double deviations, double squares) const {
    if (given(c)) {
      finish(c, deviations, squares);
    } else {
      finish.put_statistics(c, given.mean(c), given.spread(c));
    }
  }
};

/// Computes from the sums the gradients of gamma and beta, and the vectors scale, mean gradient and slope.
struct FinishGradient {
  std::int64_t cells, channels;
  const float *gamma, *inverse;
  float *gamma_gradient, *beta_gradient;  ///< may be null
  float* vectors;

  __device__ void operator()(std::int64_t c, double gradients, double products) const {
    const auto count = static_cast<double>(cells > 0 ? cells : 1);
    put_gradient_vectors(c, channels, gamma, inverse, gradients, products, count, vectors);
    put(gamma_gradient, c, products * static_cast<double>(inverse[c]));
    put(beta_gradient, c, gradients);
  }
};

/// Bytes for the sums with any pack size, then for `vectors` of a float per channel.
template <class T>
std::size_t workspace_of(const Cells& shape, int vectors) {
  return sums_bytes<T>(shape) + static_cast<std::size_t>(vectors * shape.channels) * sizeof(float);
}

/// Where no sums are given.
struct NoSums {};

/// `given`: NoSums, or of bfloat16 GivenSums.
template <class T, class Given = NoSums>
void batch_norm(const ops::BatchNorm& op, const Cells& shape, Stream& stream, const KernelArgs& args,
                const Given& given = {}) {
  const T* x = input<T>(args, 0);
  T* y = output<T>(args, 0);
  auto* sums = reinterpret_cast<double*>(args.workspace);
  auto* vectors = reinterpret_cast<float*>(args.workspace + sums_bytes<T>(shape));
  const FinishStatistics<T> finish{shape.cells,
                                   shape.channels,
                                   op.momentum,
                                   op.epsilon,
                                   x,
                                   input<float>(args, 1),
                                   input<float>(args, 3),
                                   input<float>(args, 4),
                                   output<float>(args, 1),
                                   output<float>(args, 2),
                                   output<float>(args, 3),
                                   output<float>(args, 4),
                                   vectors};
  with_pack<T>(shape.channels % kPackOf<T> == 0 && in_packs(x), [&]<class Count>(Count) {
    const ChannelSums of_channels(shape, Count::value);
    const Deviations<T> deviations{x};
    if constexpr (std::is_same_v<Given, NoSums>) {
      of_channels.run<Count::value>(stream, deviations, finish, sums);
    } else {
      static_assert(std::is_same_v<T, bfloat16>, "float needs sums with more digits");
      of_channels.run<Count::value>(stream, deviations, FinishGivenSums<T>{finish, given}, sums, given);
    }
  });
  if (y == nullptr) return;
  normalize(stream, shape, op.relu, x, vectors, {vectors + shape.channels}, input<float>(args, 2), input<T>(args, 5),
            y);
}

template <class T>
void batch_norm_gradient(ops::Rectifier relu, const Cells& shape, Stream& stream, const KernelArgs& args) {
  const T *x = input<T>(args, 0), *dy = input<T>(args, 1);
  const float *mean = input<float>(args, 3), *inverse = input<float>(args, 4);
  const RectifiedChannels channels{relu, inverse, input<float>(args, 2), relu ? input<float>(args, 5) : nullptr};
  T* dx = output<T>(args, 0);
  auto* sums = reinterpret_cast<double*>(args.workspace);
  auto* vectors = reinterpret_cast<float*>(args.workspace + sums_bytes<T>(shape));
  const FinishGradient finish{shape.cells, shape.channels,         input<float>(args, 2),
                              inverse,     output<float>(args, 1), output<float>(args, 2),
                              vectors};
  with_pack<T>(shape.channels % kPackOf<T> == 0 && in_packs(x, dy, dx), [&]<class Count>(Count) {
    ChannelSums(shape, Count::value).run<Count::value>(stream, GradientSums<T>{x, dy, mean, channels}, finish, sums);
    if (dx != nullptr) input_gradient<Count::value>(stream, shape, x, dy, mean, channels, vectors, dx);
  });
}

std::unique_ptr<Kernel> make_batch_norm(const ops::BatchNorm& op, const KernelSpecs& specs) {
  const Cells shape(specs.inputs[0]);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return stream_kernel(
        [shape, attributes = op](Stream& stream, const KernelArgs& args) {
          batch_norm<T>(attributes, shape, stream, args);
        },
        workspace_of<T>(shape, 2));
  });
}

std::unique_ptr<Kernel> make_batch_norm_gradient(const ops::BatchNormGradient& op, const KernelSpecs& specs) {
  const Cells shape(specs.inputs[0]);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return stream_kernel(
        [shape, relu = op.relu](Stream& stream, const KernelArgs& args) {
          batch_norm_gradient<T>(relu, shape, stream, args);
        },
        workspace_of<T>(shape, 3));
  });
}

}  // namespace

BatchNormOfSums::BatchNormOfSums(const ops::BatchNorm& op, const TensorView& x) : op_(op), x_(x) {
  if (x.dtype != DType::kBfloat16) refuse_dtype(op, x.dtype);
}

std::size_t BatchNormOfSums::workspace_bytes() const { return workspace_of<bfloat16>(Cells(x_), 2); }

void BatchNormOfSums::enqueue(Stream& stream, const KernelArgs& args, const float* sums, const float* squares) const {
  const Cells shape(x_);
  const GivenSums given{shape.cells, sums, squares};
  batch_norm<bfloat16>(op_, shape, stream, args, given);
}

void add_batch_norm_kernels(KernelRegistry& registry) {
  registry.add<ops::BatchNorm>(make_batch_norm);
  registry.add<BatchNormOfResidual>(make_batch_norm);
  registry.add<ops::BatchNormGradient>(make_batch_norm_gradient);
}

}  // namespace mirrortrain::cuda
