#pragma once

#include "kernels/cpu/loops.h"
#include "kernels/cpu/simd_elements.h"

namespace mirrortrain::cpu {

/// A tensor as cells of channels.
struct Cells {
  std::int64_t cells = 0, channels;
  int threads;

  Cells(const KernelSpecs& specs, const TensorView& x) : channels(x.shape.back()), threads(specs.threads) {
    if (channels > 0) cells = x.elements() / channels;
  }

  /// Calls body(element, channel, part) for every vector of channels of every cell; element = cell * channels +
  /// channel.
  template <class Body>
  void for_vectors(const Body& body) const {
    parallel_for(threads, cells, rows_per_thread(channels), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t cell = begin; cell < end; ++cell) {
        each_vector(channels, [&](std::int64_t c, auto part) { body(cell * channels + c, c, part); });
      }
    });
  }
};

/// y = (x - mean) scale + beta, then relu where asked.
template <class T>
void normalize(const Cells& shape, bool with_relu, const T* x, const float* mean, const float* scale, const float* beta,
               T* y) {
  const Vec floor = broadcast(with_relu ? 0.0f : -std::numeric_limits<float>::infinity());
  shape.for_vectors([=](std::int64_t i, std::int64_t c, auto part) {
    const Vec value = (get(x + i, part) - get(mean + c, part)) * get(scale + c, part) + get(beta + c, part);
    put(y + i, value < floor ? floor : value, part);
  });
}

/// Bytes for `doubles`, then `vectors` of a float per channel.
inline std::size_t workspace_of(std::int64_t doubles, std::int64_t vectors, std::int64_t channels) {
  return static_cast<std::size_t>(doubles) * sizeof(double) +
         static_cast<std::size_t>(vectors * channels) * sizeof(float);
}

void add_batch_norm_inference_kernels(KernelRegistry& registry);

}  // namespace mirrortrain::cpu
