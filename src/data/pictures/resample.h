#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/preprocessing/picture_preprocessing.h"

namespace mirrortrain::data {

/// Of a picture, whose pixels are float32 [height, width, channels].
struct Extents {
  std::int64_t height = 0, width = 0, channels = 0;
  std::int64_t elements() const { return height * width * channels; }
  friend bool operator==(const Extents&, const Extents&) = default;
};

/// Resizes pictures of one size to another: pixels' centers at halves, as tf.image.resize does it.
class Resampling {
 public:
  Resampling(const Extents& from, std::int64_t height, std::int64_t width, Interpolation interpolation, bool antialias);

  /// May run in many threads at once.
  void operator()(const float* from, float* to) const;

  /// For each place of an axis the places before that it is a weighted sum of.
  struct Taps {
    std::int64_t most = 0;  ///< weights of one place
    std::vector<std::int64_t> first, count;
    std::vector<float> weights;
  };

 private:
  Extents from_, to_;
  bool is_plain_bilinear_;
  Taps rows_, columns_;
};

}  // namespace mirrortrain::data
