#pragma once

#include <array>

#include "data/pictures/resample.h"

namespace mirrortrain::data {

// Transforms of one picture, float32 [height, width, channels], with given parameters. `to` must not alias `from`.

/// Flips left and right, top and bottom, or both.
void flip(const float* from, const Extents& extents, FlipMode mode, float* to);

/// The part of the size of `window` that begins at a row and a column; it may extend beyond the picture, where it has
/// zeros.
void crop(const float* from, const Extents& extents, std::int64_t top, std::int64_t left, const Extents& window,
          float* to);

/// (a0, a1, a2, b0, b1, b2): the pixel at column x and row y comes from column a0 x + a1 y + a2, row b0 x + b1 y + b2.
using AffineMap = std::array<float, 6>;
AffineMap translation(float down, float right);
/// Around the center, counterclockwise by a fraction of a full turn.
AffineMap rotation(const Extents& extents, float turn);
/// Around the center: what is seen of each axis, as a factor.
AffineMap zoom(const Extents& extents, float height, float width);
/// From the upper left corner.
AffineMap shear(float x, float y);

/// (a0, a1, a2, b0, b1, b2, c0, c1): the pixel at column x and row y comes from column (a0 x + a1 y + a2) / d and
/// row (b0 x + b1 y + b2) / d, where d is c0 x + c1 y + 1.
using ProjectiveMap = std::array<float, 8>;
/// A picture whose corners, upper left, upper right, lower left and lower right, are moved to these (column, row).
/// Corners of which three lie on a line give a map that moves nothing.
ProjectiveMap perspective(const Extents& extents, const std::array<std::array<float, 2>, 4>& corners);

/// Like TensorFlow's ImageProjectiveTransformV3.
void move(const float* from, const Extents& extents, const AffineMap& map, const Filling& filling, float* to);
void move(const float* from, const Extents& extents, const ProjectiveMap& map, const Filling& filling, float* to);
/// Each pixel comes from `right` columns and `down` rows farther, which are [height, width].
void displace(const float* from, const Extents& extents, const float* right, const float* down, const Filling& filling,
              float* to);

/// (x - mean of the channel) factor + mean, clipped to `range`.
void change_contrast(const float* from, const Extents& extents, float factor, const std::array<double, 2>& range,
                     float* to);

}  // namespace mirrortrain::data
