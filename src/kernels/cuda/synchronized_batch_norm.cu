#include "graph/ops/synchronized_batch_norm.h"
#include "kernels/cuda/batch_norm_training.h"
#include "kernels/cuda/custom_kernels.h"
#include "kernels/cuda/mask_count.h"
#include "kernels/scalar/batch_renorm.h"
#include "kernels/scalar/batch_sums.h"

namespace mirrortrain::cuda {
namespace {

template <class T>
struct FinishSums {
  std::int64_t cells, channels;
  const T* x;
  const double* counted;  ///< how many cells a mask lets count; null: all
  double* sums;

  __device__ void operator()(std::int64_t c, double deviations, double squares) const {
    const double pivot = cells == 0 ? 0.0 : static_cast<double>(static_cast<float>(x[c]));
    const std::int64_t of_batch = counted == nullptr ? cells : static_cast<std::int64_t>(*counted);
    scalar::put_batch_sums(c, channels, of_batch, pivot, deviations, squares, sums);
  }
};

/// Computes from the run's sums the outputs other than y, and the vectors mean and scale for y.
struct StatisticsOfBatch {
  std::int64_t channels;
  float epsilon;
  const double* sums;
  const float* gamma;
  float *mean, *inverse;  ///< may be null
  float* vectors;
};

__global__ void __launch_bounds__(kBlock) find_statistics(StatisticsOfBatch of) {
  for (std::int64_t c = grid_thread(); c < of.channels; c += grid_threads()) {
    const scalar::BatchStatistics batch = scalar::batch_statistics(c, of.channels, of.sums);
    const double inverse_deviation = 1.0 / sqrt(batch.variance + static_cast<double>(of.epsilon));
    of.vectors[c] = static_cast<float>(batch.mean);
    of.vectors[of.channels + c] = static_cast<float>(inverse_deviation) * (of.gamma == nullptr ? 1.0f : of.gamma[c]);
    put(of.mean, c, batch.mean);
    put(of.inverse, c, inverse_deviation);
  }
}

__global__ void __launch_bounds__(kBlock)
    move_statistics(std::int64_t channels, float momentum, const double* sums, const float* mean, const float* variance,
                    float* new_mean, float* new_variance) {
  for (std::int64_t c = grid_thread(); c < channels; c += grid_threads()) {
    const scalar::BatchStatistics batch = scalar::batch_statistics(c, channels, sums);
    put(new_mean, c, scalar::moved(mean[c], batch.mean, momentum));
    put(new_variance, c, scalar::moved(variance[c], batch.variance, momentum));
  }
}

struct RenormOutputs {
  float *scale, *shift, *renorm_mean, *renorm_deviation, *moving_mean, *moving_deviation, *moving_variance;
};

__global__ void __launch_bounds__(kBlock)
    renorm_statistics(std::int64_t channels, ops::RenormOptions options, const double* sums, const float* renorm_mean,
                      const float* renorm_deviation, const float* moving_mean, const float* moving_deviation,
                      RenormOutputs to) {
  for (std::int64_t c = grid_thread(); c < channels; c += grid_threads()) {
    const scalar::RenormBefore before{renorm_mean[c], renorm_deviation[c], moving_mean[c], moving_deviation[c]};
    const scalar::Renormed now = scalar::renormed(options, scalar::batch_statistics(c, channels, sums), before);
    put(to.scale, c, now.scale);
    put(to.shift, c, now.shift);
    put(to.renorm_mean, c, now.renorm_mean);
    put(to.renorm_deviation, c, now.renorm_deviation);
    put(to.moving_mean, c, now.moving_mean);
    put(to.moving_deviation, c, now.moving_deviation);
    put(to.moving_variance, c, now.moving_variance);
  }
}

/// Stores the sums, and computes from them this replica's gradients of gamma and beta.
struct FinishGradientSums {
  std::int64_t channels;
  const float* inverse;
  double* sums;
  float *gamma_gradient, *beta_gradient;  ///< all three may be null

  __device__ void operator()(std::int64_t c, double gradients, double products) const {
    if (sums != nullptr) {
      sums[c] = gradients;
      sums[channels + c] = products;
    }
    put(gamma_gradient, c, products * static_cast<double>(inverse[c]));
    put(beta_gradient, c, gradients);
  }
};

__global__ void __launch_bounds__(kBlock)
    find_gradient_vectors(std::int64_t channels, const float* gamma, const float* inverse, const double* batch,
                          const double* sums, float* vectors) {
  for (std::int64_t c = grid_thread(); c < channels; c += grid_threads()) {
    put_gradient_vectors(c, channels, gamma, inverse, sums[c], sums[channels + c], scalar::cells_of(batch, channels),
                         vectors);
  }
}

std::size_t vectors_bytes(const Cells& shape, int vectors) {
  return static_cast<std::size_t>(vectors * shape.channels) * sizeof(float);
}

std::unique_ptr<Kernel> make_sums(const ops::BatchNormSums& op, const KernelSpecs& specs) {
  const Cells shape(specs.inputs[0]);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return stream_kernel(
        [shape](Stream& stream, const KernelArgs& args) {
          const T* x = input<T>(args, 0);
          const auto* const mask = input<float>(args, 1);
          auto* const counted = reinterpret_cast<double*>(args.workspace);
          double* const sums = counted + 1;
          const FinishSums<T> finish{shape.cells, shape.channels, x, mask == nullptr ? nullptr : counted,
                                     output<double>(args, 0)};
          if (finish.sums == nullptr) return;
          if (mask != nullptr) count_mask(stream, shape.cells, mask, counted);
          with_pack<T>(shape.channels % kPackOf<T> == 0 && in_packs(x), [&]<class Count>(Count) {
            ChannelSums(shape, Count::value)
                .run<Count::value>(stream, Deviations<T>{x, mask, shape.channels}, finish, sums);
          });
        },
        sizeof(double) + sums_bytes<T>(shape));
  });
}

std::unique_ptr<Kernel> make_by_sums(const ops::BatchNormBySums& op, const KernelSpecs& specs) {
  const Cells shape(specs.inputs[0]);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return stream_kernel(
        [shape, epsilon = op.epsilon, relu = op.relu](Stream& stream, const KernelArgs& args) {
          auto* vectors = reinterpret_cast<float*>(args.workspace);
          launch(stream, blocks_for(shape.channels), kBlock, 0, find_statistics,
                 StatisticsOfBatch{shape.channels, epsilon, input<double>(args, 3), input<float>(args, 1),
                                   output<float>(args, 1), output<float>(args, 2), vectors});
          T* y = output<T>(args, 0);
          if (y == nullptr) return;
          normalize<T>(stream, shape, relu, input<T>(args, 0), vectors, {vectors + shape.channels},
                       input<float>(args, 2), nullptr, y);
        },
        vectors_bytes(shape, 2));
  });
}

std::unique_ptr<Kernel> make_moving(const ops::MovingStatistics& op, const KernelSpecs& specs) {
  return stream_kernel(
      [channels = specs.inputs[1].elements(), momentum = op.momentum](Stream& stream, const KernelArgs& args) {
        launch(stream, blocks_for(channels), kBlock, 0, move_statistics, channels, momentum, input<double>(args, 0),
               input<float>(args, 1), input<float>(args, 2), output<float>(args, 0), output<float>(args, 1));
      });
}

std::unique_ptr<Kernel> make_renorm(const ops::RenormStatistics& op, const KernelSpecs& specs) {
  return stream_kernel(
      [channels = specs.inputs[1].elements(), options = op.options](Stream& stream, const KernelArgs& args) {
        const RenormOutputs to{output<float>(args, 0), output<float>(args, 1), output<float>(args, 2),
                               output<float>(args, 3), output<float>(args, 4), output<float>(args, 5),
                               output<float>(args, 6)};
        launch(stream, blocks_for(channels), kBlock, 0, renorm_statistics, channels, options, input<double>(args, 0),
               input<float>(args, 1), input<float>(args, 2), input<float>(args, 3), input<float>(args, 4), to);
      });
}

std::unique_ptr<Kernel> make_gradient_sums(const ops::BatchNormGradientSums& op, const KernelSpecs& specs) {
  const Cells shape(specs.inputs[0]);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return stream_kernel(
        [shape, relu = op.relu](Stream& stream, const KernelArgs& args) {
          const RectifiedChannels channels{relu, input<float>(args, 3), relu ? input<float>(args, 4) : nullptr,
                                           relu ? input<float>(args, 5) : nullptr};
          const GradientSums<T> term{input<T>(args, 0), input<T>(args, 1), input<float>(args, 2), channels};
          const FinishGradientSums finish{shape.channels, input<float>(args, 3), output<double>(args, 0),
                                          output<float>(args, 1), output<float>(args, 2)};
          auto* sums = reinterpret_cast<double*>(args.workspace);
          with_pack<T>(shape.channels % kPackOf<T> == 0 && in_packs(term.x, term.dy), [&]<class Count>(Count) {
            ChannelSums(shape, Count::value).run<Count::value>(stream, term, finish, sums);
          });
        },
        sums_bytes<T>(shape));
  });
}

std::unique_ptr<Kernel> make_gradient_by_sums(const ops::BatchNormGradientBySums& op, const KernelSpecs& specs) {
  const Cells shape(specs.inputs[0]);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return stream_kernel(
        [shape, relu = op.relu](Stream& stream, const KernelArgs& args) {
          const T *x = input<T>(args, 0), *dy = input<T>(args, 1);
          const auto* const mask = input<float>(args, 8);
          T* dx = output<T>(args, 0);
          if (dx == nullptr) return;
          const RectifiedChannels channels{relu, input<float>(args, 4), input<float>(args, 2),
                                           relu ? input<float>(args, 7) : nullptr};
          auto* vectors = reinterpret_cast<float*>(args.workspace);
          launch(stream, blocks_for(shape.channels), kBlock, 0, find_gradient_vectors, shape.channels,
                 input<float>(args, 2), input<float>(args, 4), input<double>(args, 5), input<double>(args, 6), vectors);
          with_pack<T>(shape.channels % kPackOf<T> == 0 && in_packs(x, dy, dx), [&]<class Count>(Count) {
            input_gradient<Count::value>(stream, shape, x, dy, input<float>(args, 3), channels, vectors, dx, mask);
          });
        },
        vectors_bytes(shape, 3));
  });
}

}  // namespace

void add_synchronized_batch_norm_kernels(KernelRegistry& registry) {
  registry.add<ops::BatchNormSums>(make_sums);
  registry.add<ops::BatchNormBySums>(make_by_sums);
  registry.add<ops::MovingStatistics>(make_moving);
  registry.add<ops::RenormStatistics>(make_renorm);
  registry.add<ops::BatchNormGradientSums>(make_gradient_sums);
  registry.add<ops::BatchNormGradientBySums>(make_gradient_by_sums);
}

}  // namespace mirrortrain::cuda
