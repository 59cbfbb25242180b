#pragma once

#include <cstdint>

#include "kernels/cpu/batch_norm.h"

namespace mirrortrain::cpu {

/// The gradient where relu or relu6 of `y` passes it, else 0.
inline Vec rectified(Vec gradient, Vec y, float most) { return y > 0.0f && y < most ? gradient : Vec{}; }

/// Per-channel float vectors for the gradient of a normalization: scale and shift as in normalize; the mean of g, the
/// gradient before relu; the slope, inverse^2 mean(g (x - mean)).
class GradientVectors {
 public:
  static constexpr std::int64_t kRows = 4;

  GradientVectors(float* memory, std::int64_t channels) : memory_(memory), channels_(channels) {}

  float* scale() const { return memory_; }
  float* shift() const { return memory_ + channels_; }
  float* mean_gradient() const { return memory_ + 2 * channels_; }
  float* slope() const { return memory_ + 3 * channels_; }

  void put_scale_and_shift(const float* gamma, const float* beta, const float* inverse) const {
    for (std::int64_t c = 0; c < channels_; ++c) {
      scale()[c] = scale_of(inverse[c], gamma, c);
      shift()[c] = shift_of(beta, c);
    }
  }
  /// The sums are those of NormalizedGradient::sum over `count` cells.
  void put_means(const double* sums, const float* inverse, double count) const {
    for (std::int64_t c = 0; c < channels_; ++c) {
      const auto deviation = static_cast<double>(inverse[c]);
      mean_gradient()[c] = static_cast<float>(sums[c] / count);
      slope()[c] = static_cast<float>(sums[channels_ + c] * deviation * deviation / count);
    }
  }

 private:
  float* memory_;
  std::int64_t channels_;
};

/// The backward pass of a normalization, whose gradient before relu is g. Relu's mask is recomputed.
template <bool kRelu, class T>
struct NormalizedGradient {
  const T *x, *dy;
  const float* mean;
  GradientVectors vectors;
  float most;  ///< of y, with relu

  /// Computes the sums of g and of g (x - mean); uses scale and shift.
  void sum(const Cells& shape, const ChannelSums& sums, double* total) const {
    sums.run(shape.threads, total, [*this](std::int64_t c, auto part) {
      return [*this, part, middle = get(mean + c, part), before_relu = before_relu_of(c, part)](std::int64_t i) {
        prefetch_ahead(x + i);
        prefetch_ahead(dy + i);
        const Vec deviation = get(x + i, part) - middle;
        const Vec gradient = before_relu(get(dy + i, part), deviation);
        return ChannelSums::Pair{gradient, gradient * deviation};
      };
    });
  }

  /// dx = scale (g - mean gradient - (x - mean) slope). For cells that a mask excludes from the statistics it is only
  /// scale g.
  void input_gradient(const Cells& shape, T* dx, const float* mask = nullptr) const {
    shape.for_vectors([=, *this](std::int64_t c, auto part) {
      return [=, *this, middle = get(mean + c, part), factor = get(vectors.scale() + c, part),
              less = get(vectors.mean_gradient() + c, part), steep = get(vectors.slope() + c, part),
              before_relu = before_relu_of(c, part)](std::int64_t i) {
        prefetch_ahead(x + i);
        prefetch_ahead(dy + i);
        const Vec deviation = get(x + i, part) - middle;
        put(dx + i, factor * (before_relu(get(dy + i, part), deviation) - less - deviation * steep), part);
      };
    });
    if (mask == nullptr) return;
    for (std::int64_t cell = 0; cell < shape.cells; ++cell) {
      if (mask[cell] != 0) continue;
      each_vector(shape.channels, [&](std::int64_t c, auto part) {
        const std::int64_t i = cell * shape.channels + c;
        const Vec deviation = get(x + i, part) - get(mean + c, part);
        put(dx + i, get(vectors.scale() + c, part) * before_relu_of(c, part)(get(dy + i, part), deviation), part);
      });
    }
  }

 private:
  /// (gradient of y, x - mean) to g.
  template <class Part>
  auto before_relu_of(std::int64_t c, Part part) const {
    if constexpr (kRelu) {
      return [s = get(vectors.scale() + c, part), b = get(vectors.shift() + c, part), most = most](
                 Vec gradient, Vec deviation) -> Vec { return rectified(gradient, deviation * s + b, most); };
    } else {
      return [](Vec gradient, Vec) -> Vec { return gradient; };
    }
  }
};

}  // namespace mirrortrain::cpu
