#pragma once

#include <cstddef>

namespace mirrortrain::cuda {

/// How matrix products and convolutions may be computed.
struct MathOptions {
  bool tf32 = true;  ///< float32 products on tensor cores, inputs rounded to 10 bits, as Keras and TensorFlow do
  bool deterministic = true;  ///< only algorithms that give the same bits each time
  /// Convolution algorithms that want more are passed over; some would take a GiB for a network's first layer.
  std::size_t most_workspace_bytes = std::size_t{512} << 20;
  /// Of what the libraries propose, what is fastest when measured is taken instead of what they think fastest.
  bool autotune = false;
};

}  // namespace mirrortrain::cuda
