#pragma once

namespace mirrortrain::cuda {

/// How matrix products and convolutions may be computed.
struct MathOptions {
  bool tf32 = true;  ///< float32 products on tensor cores, inputs rounded to 10 bits, as Keras and TensorFlow do
  bool deterministic = true;  ///< only algorithms that give the same bits each time
};

}  // namespace mirrortrain::cuda
