#include "graph/ops/batch_norm.h"

#include <cmath>

#include "kernels/cpu/channels.h"
#include "kernels/cpu/loops.h"
#include "kernels/cpu/registry.h"

namespace mirrortrain::cpu {
namespace {

struct Pair {
  double first, second;
};

/// A tensor as cells of channels.
struct Cells {
  std::int64_t cells, channels;
  int threads;

  Cells(const KernelSpecs& specs, const TensorView& x) : channels(x.shape.back()), threads(specs.threads) {
    cells = channels == 0 ? 0 : x.elements() / channels;
  }

  /// Calls body(cell * channels + channel, channel) for every element.
  template <class Body>
  void for_elements(const Body& body) const {
    parallel_for(threads, cells, rows_per_thread(channels), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t cell = begin; cell < end; ++cell) {
        for_channel_blocks(channels, [&](std::int64_t first, std::int64_t count) {
          for (std::int64_t c = first; c < first + count; ++c) body(cell * channels + c, c);
        });
      }
    });
  }
};

/// y = (x - mean) scale + beta, then relu where asked.
template <class T>
void normalize(const Cells& shape, bool relu, const T* x, const float* mean, const float* scale, const float* beta,
               T* y) {
  const auto normalized = [=](std::int64_t i, std::int64_t c) {
    return (static_cast<float>(x[i]) - mean[c]) * scale[c] + beta[c];
  };
  if (relu) {
    shape.for_elements([=](std::int64_t i, std::int64_t c) {
      const float value = normalized(i, c);
      y[i] = T(value < 0.0f ? 0.0f : value);
    });
  } else {
    shape.for_elements([=](std::int64_t i, std::int64_t c) { y[i] = T(normalized(i, c)); });
  }
}

/// The vectors of one float per channel that follow the sums in the workspace.
struct ChannelVectors {
  float* data;
  std::int64_t channels;
  float* operator[](int i) const { return data + i * channels; }
};

std::size_t workspace_of(std::int64_t doubles, std::int64_t vectors, std::int64_t channels) {
  return static_cast<std::size_t>(doubles) * sizeof(double) +
         static_cast<std::size_t>(vectors * channels) * sizeof(float);
}

void store(float* to, std::int64_t channel, float value) {
  if (to != nullptr) to[channel] = value;
}

std::unique_ptr<Kernel> make_batch_norm(const ops::BatchNorm& op, const KernelSpecs& specs) {
  const Cells shape(specs, specs.inputs[0]);
  const ChannelSums sums(shape.cells, shape.channels);
  const ops::BatchNorm attributes(op);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    const auto body = [=](const KernelArgs& args) {
      const T* x = input<T>(args, 0);
      const float *gamma = input<float>(args, 1), *beta = input<float>(args, 2);
      const float *moving_mean = input<float>(args, 3), *moving_variance = input<float>(args, 4);
      auto* total = reinterpret_cast<double*>(args.workspace);
      const ChannelVectors vectors{reinterpret_cast<float*>(total + sums.doubles()), shape.channels};
      sums.run(shape.threads, total, [=, channels = shape.channels](std::int64_t cell, std::int64_t c) {
        const double value = static_cast<double>(static_cast<float>(x[cell * channels + c]));
        return Pair{value, value * value};
      });
      // Without rows the moving statistics stay.
      const double count = static_cast<double>(std::max<std::int64_t>(1, shape.cells));
      const double kept = shape.cells == 0 ? 1.0 : static_cast<double>(attributes.momentum);
      for (std::int64_t c = 0; c < shape.channels; ++c) {
        const double mean = total[c] / count;
        const double variance = std::max(0.0, total[shape.channels + c] / count - mean * mean);
        const double inverse = 1.0 / std::sqrt(variance + static_cast<double>(attributes.epsilon));
        vectors[0][c] = static_cast<float>(mean);
        vectors[1][c] = static_cast<float>(inverse) * (gamma == nullptr ? 1.0f : gamma[c]);
        vectors[2][c] = beta == nullptr ? 0.0f : beta[c];
        store(output<float>(args, 1), c, static_cast<float>(mean));
        store(output<float>(args, 2), c, static_cast<float>(inverse));
        store(output<float>(args, 3), c,
              static_cast<float>(static_cast<double>(moving_mean[c]) * kept + mean * (1 - kept)));
        store(output<float>(args, 4), c,
              static_cast<float>(static_cast<double>(moving_variance[c]) * kept + variance * (1 - kept)));
      }
      if (T* y = output<T>(args, 0)) normalize(shape, attributes.relu, x, vectors[0], vectors[1], vectors[2], y);
    };
    return loop_kernel(body, workspace_of(sums.doubles(), 3, shape.channels));
  });
}

template <bool kRelu, class T>
void batch_norm_gradient(const Cells& shape, const ChannelSums& sums, const KernelArgs& args) {
  const T *x = input<T>(args, 0), *dy = input<T>(args, 1), *y = kRelu ? input<T>(args, 5) : nullptr;
  const float *gamma = input<float>(args, 2), *mean = input<float>(args, 3), *inverse = input<float>(args, 4);
  const std::int64_t channels = shape.channels;
  auto* total = reinterpret_cast<double*>(args.workspace);
  const ChannelVectors vectors{reinterpret_cast<float*>(total + sums.doubles()), channels};
  const auto arriving = [=](std::int64_t i) {
    return !kRelu || static_cast<float>(y[i]) > 0.0f ? static_cast<float>(dy[i]) : 0.0f;
  };
  sums.run(shape.threads, total, [=](std::int64_t cell, std::int64_t c) {
    const std::int64_t i = cell * channels + c;
    const float gradient = arriving(i);
    return Pair{static_cast<double>(gradient), static_cast<double>(gradient * (static_cast<float>(x[i]) - mean[c]))};
  });
  const double count = static_cast<double>(std::max<std::int64_t>(1, shape.cells));
  for (std::int64_t c = 0; c < channels; ++c) {
    const double by_deviation = total[channels + c] * static_cast<double>(inverse[c]);
    vectors[0][c] = (gamma == nullptr ? 1.0f : gamma[c]) * inverse[c];
    vectors[1][c] = static_cast<float>(total[c] / count);
    vectors[2][c] = static_cast<float>(by_deviation * static_cast<double>(inverse[c]) / count);
    store(output<float>(args, 1), c, static_cast<float>(by_deviation));
    store(output<float>(args, 2), c, static_cast<float>(total[c]));
  }
  T* dx = output<T>(args, 0);
  if (dx == nullptr) return;
  const float *scale = vectors[0], *mean_gradient = vectors[1], *slope = vectors[2];
  shape.for_elements([=](std::int64_t i, std::int64_t c) {
    dx[i] = T(scale[c] * (arriving(i) - mean_gradient[c] - (static_cast<float>(x[i]) - mean[c]) * slope[c]));
  });
}

std::unique_ptr<Kernel> make_batch_norm_gradient(const ops::BatchNormGradient& op, const KernelSpecs& specs) {
  const Cells shape(specs, specs.inputs[0]);
  const ChannelSums sums(shape.cells, shape.channels);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    const auto body = [=, gradient = op.relu ? batch_norm_gradient<true, T> : batch_norm_gradient<false, T>](
                          const KernelArgs& args) { gradient(shape, sums, args); };
    return loop_kernel(body, workspace_of(sums.doubles(), 3, shape.channels));
  });
}

/// gamma / sqrt(moving_variance + epsilon)
void fill_scale(std::int64_t channels, const float* gamma, const float* variance, float epsilon, float* scale) {
  for (std::int64_t c = 0; c < channels; ++c) {
    scale[c] = (gamma == nullptr ? 1.0f : gamma[c]) / std::sqrt(variance[c] + epsilon);
  }
}

std::unique_ptr<Kernel> make_inference(const ops::BatchNormInference& op, const KernelSpecs& specs) {
  const Cells shape(specs, specs.inputs[0]);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    const auto body = [=, epsilon = op.epsilon, relu = op.relu](const KernelArgs& args) {
      const ChannelVectors vectors{reinterpret_cast<float*>(args.workspace), shape.channels};
      const float* beta = input<float>(args, 2);
      fill_scale(shape.channels, input<float>(args, 1), input<float>(args, 4), epsilon, vectors[0]);
      if (beta == nullptr) std::fill(vectors[1], vectors[2], 0.0f);
      normalize(shape, relu, input<T>(args, 0), input<float>(args, 3), vectors[0], beta == nullptr ? vectors[1] : beta,
                output<T>(args, 0));
    };
    return loop_kernel(body, workspace_of(0, 2, shape.channels));
  });
}

std::unique_ptr<Kernel> make_inference_gradient(const ops::BatchNormInferenceGradient& op, const KernelSpecs& specs) {
  const Cells shape(specs, specs.inputs[0]);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    const auto body = [=, epsilon = op.epsilon, relu = op.relu](const KernelArgs& args) {
      const T *dy = input<T>(args, 0), *y = relu ? input<T>(args, 3) : nullptr;
      T* dx = output<T>(args, 0);
      auto* scale = reinterpret_cast<float*>(args.workspace);
      fill_scale(shape.channels, input<float>(args, 1), input<float>(args, 2), epsilon, scale);
      if (relu) {
        shape.for_elements([=](std::int64_t i, std::int64_t c) {
          dx[i] = T(static_cast<float>(y[i]) > 0.0f ? scale[c] * static_cast<float>(dy[i]) : 0.0f);
        });
      } else {
        shape.for_elements([=](std::int64_t i, std::int64_t c) { dx[i] = T(scale[c] * static_cast<float>(dy[i])); });
      }
    };
    return loop_kernel(body, workspace_of(0, 1, shape.channels));
  });
}

}  // namespace

void add_batch_norm_kernels(KernelRegistry& registry) {
  registry.add<ops::BatchNorm>(make_batch_norm);
  registry.add<ops::BatchNormGradient>(make_batch_norm_gradient);
  registry.add<ops::BatchNormInference>(make_inference);
  registry.add<ops::BatchNormInferenceGradient>(make_inference_gradient);
}

}  // namespace mirrortrain::cpu
