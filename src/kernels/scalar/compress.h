#pragma once

#include <cstdint>

#include "base/bfloat16.h"
#include "base/host_device.h"

// Gradients as bfloat16 on the wire. The rounding errors, of the gradients and of their sum, are kept in a residual and
// added to the next step's gradient, so that nothing is lost: error feedback in both directions, as in Tang et al.,
// DoubleSqueeze: Parallel Stochastic Gradient Descent with Double-pass Error-Compensated Compression (2019).
namespace mirrortrain::scalar {

/// `value` rounded for sending; the rounding error is added to `residual`, unless it is not finite.
MIRRORTRAIN_HOST_DEVICE inline bfloat16 sent(float value, float& residual) {
  const bfloat16 rounded(value);
  const float rest = value - static_cast<float>(rounded);
  const bool is_finite = (bit_cast<std::uint32_t>(rest) & 0x7f800000u) != 0x7f800000u;
  residual += is_finite ? rest : 0.0f;
  return rounded;
}

/// The gradient with its residual, rounded for sending.
MIRRORTRAIN_HOST_DEVICE inline bfloat16 compressed(float gradient, float& residual) {
  const float value = gradient + residual;
  residual = 0;
  return sent(value, residual);
}

/// A rank's shard of a sum over the ranks, computed from what each rank sent.
struct CompressedSum {
  const bfloat16* terms = nullptr;  ///< a shard for each rank, in their order
  int ranks = 1;
  std::int64_t shard = 0;     ///< elements
  bfloat16* to = nullptr;     ///< the sum, as it is sent
  float* residual = nullptr;  ///< of the rank's gradient, where the shard begins
  std::int64_t count = 0;     ///< the elements that are gradients; the rest are padding

  MIRRORTRAIN_HOST_DEVICE void add(std::int64_t i) const {
    float sum = 0;
    for (int rank = 0; rank < ranks; ++rank) sum += static_cast<float>(terms[rank * shard + i]);
    to[i] = sent(sum, residual[i]);
  }
};

/// Received sums, and their destination as float32.
struct Expansion {
  const bfloat16* from = nullptr;
  float* to = nullptr;
  std::int64_t count = 0;
};

}  // namespace mirrortrain::scalar
