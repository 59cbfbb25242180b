#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/preprocessing/picture_preprocessing.h"

namespace mirrortrain::data {

/// The extents of a picture with float32 pixels [height, width, channels].
struct Extents {
  std::int64_t height = 0, width = 0, channels = 0;
  std::int64_t elements() const { return height * width * channels; }
  friend bool operator==(const Extents&, const Extents&) = default;
};

/// Resizes pictures of one size to another, with half-pixel centers, like tf.image.resize.
class Resampling {
 public:
  Resampling(const Extents& from, std::int64_t height, std::int64_t width, Interpolation interpolation, bool antialias);

  /// Thread-safe.
  void operator()(const float* from, float* to) const;

  /// For each output position of an axis, the input positions of its weighted sum.
  struct Taps {
    std::int64_t most = 0;  ///< maximum number of weights of a position
    std::vector<std::int64_t> first, count;
    std::vector<float> weights;
  };

 private:
  Extents from_, to_;
  bool is_plain_bilinear_;
  Taps rows_, columns_;
};

}  // namespace mirrortrain::data
