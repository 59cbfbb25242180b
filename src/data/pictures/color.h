#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "data/pictures/resample.h"

namespace mirrortrain::data {

// Changes of a picture's colors, float32 [height, width, channels], with given parameters. `to` must not alias `from`,
// unless it says so. `range`: the least and the largest value of pixels.

using Range = std::array<double, 2>;

/// Of a number the whole part as a place in a table, at most `last`; 0 for negative numbers and NaN, which pixels are
/// where a transform before has exceeded the range of float32.
inline std::size_t place_of(float x, std::int64_t last) {
  return x > 0 ? static_cast<std::size_t>(std::min(x, static_cast<float>(last))) : 0;
}

/// x + delta, clipped to the range. `to` may be `from`, as in what follows but sharpen and blur.
void change_brightness(const float* from, const Extents& extents, float delta, const Range& range, float* to);
/// Of three channels: the saturation times `factor`.
void change_saturation(const float* from, const Extents& extents, float factor, const Range& range, float* to);
/// Of three channels: the hue turned by `turn`, a part of a full one.
void turn_hue(const float* from, const Extents& extents, float turn, const Range& range, float* to);
/// Of three channels: x + share (gray - x), clipped to the range; without one where it is null.
void mix_with_gray(const float* from, const Extents& extents, float share, const Range* range, float* to);
/// The upper `bits` of 8.
void posterize(const float* from, const Extents& extents, int bits, const Range& range, float* to);
/// x + addition, clipped, and from `threshold` on inverted; both of 255.
void solarize(const float* from, const Extents& extents, float addition, float threshold, const Range& range,
              float* to);
/// Each channel stretched over the range.
void stretch_contrast(const float* from, const Extents& extents, const Range& range, float* to);
/// Each channel with an equalized histogram.
void equalize(const float* from, const Extents& extents, std::int64_t bins, const Range& range, float* to);
/// Each channel with an equalized histogram around every pixel: those of the tiles next to it, interpolated. No bin has
/// more than `clip_limit` times the mean of a histogram's bins, if it is above 0.
void equalize_tiles(const float* from, const Extents& extents, double clip_limit,
                    const std::array<std::int64_t, 2>& grid, const Range& range, float* to);
/// x + (1 - 2 factor) (smooth - x), clipped, where smooth has a kernel of 5 in the middle and 1 around it, of 13.
void sharpen(const float* from, const Extents& extents, float factor, const Range& range, float* to);
/// A Gaussian kernel of odd height and width, zeros beyond the edges, clipped to the range.
void blur(const float* from, const Extents& extents, const std::array<std::int64_t, 2>& kernel_size,
          const std::array<float, 2>& sigma, const Range& range, float* to);

}  // namespace mirrortrain::data
