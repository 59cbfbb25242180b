#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "graph/ops/conv.h"

namespace mirrortrain::cpu::few_channels {

/// A convolution whose images are read with their padding in place, so that every tap of every output is inside.
struct PaddedImages {
  std::int64_t images, height, width, channels;
  std::int64_t out_height, out_width, filters;
  std::int64_t padded_height, padded_width, pad_top, pad_left;
  std::int64_t row_step, column_step;  ///< from an output's first tap to the next one's, in floats
  std::vector<std::int64_t> taps;      ///< offsets of an output's taps from its first one, in floats

  PaddedImages(const ops::Conv2dAttributes& attributes, const Shape& x, const Shape& kernel, const Shape& y)
      : images(x[0]), height(x[1]), width(x[2]), channels(x[3]), out_height(y[1]), out_width(y[2]), filters(y[3]) {
    const auto axis = [&](std::size_t i) {
      return ops::window_axis(x[i + 1], kernel[i], attributes.strides[i], attributes.dilation_rate[i],
                              attributes.padding);
    };
    pad_top = axis(0).pad_before;
    pad_left = axis(1).pad_before;
    padded_height = height + pad_top + axis(0).pad_after;
    padded_width = width + pad_left + axis(1).pad_after;
    row_step = attributes.strides[0] * padded_width * channels;
    column_step = attributes.strides[1] * channels;
    for (std::int64_t i = 0; i < kernel[0]; ++i) {
      for (std::int64_t j = 0; j < kernel[1]; ++j) {
        for (std::int64_t c = 0; c < channels; ++c) {
          const std::int64_t pixel = i * attributes.dilation_rate[0] * padded_width + j * attributes.dilation_rate[1];
          taps.push_back(pixel * channels + c);
        }
      }
    }
  }

  bool copies() const { return padded_height != height || padded_width != width; }
  /// Floats of the copy that `image` needs; 0 without padding.
  std::int64_t copy_floats() const { return copies() ? padded_height * padded_width * channels : 0; }

  /// The padded image: the original or a copy.
  const float* image(const float* x, std::int64_t number, float* copy) const {
    const float* from = x + number * height * width * channels;
    if (!copies()) return from;
    std::fill_n(copy, copy_floats(), 0.0f);
    for (std::int64_t row = 0; row < height; ++row, from += width * channels) {
      std::copy_n(from, width * channels, copy + ((row + pad_top) * padded_width + pad_left) * channels);
    }
    return copy;
  }
};

/// Adds one image's part of the gradient: sums[tap][filter] += pixel * dy over all outputs, and below the taps one row
/// with the sum of dy. Rows of `sums` are round_up(filters, 16) long.
void add_image(const PaddedImages& geometry, const float* image, const float* dy, float* sums);

}  // namespace mirrortrain::cpu::few_channels
