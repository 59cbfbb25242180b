#pragma once

#include <cstddef>
#include <span>

#include "data/pictures/picture.h"

namespace mirrortrain::data {

/// EXIF's orientation, from its TIFF header on; 1, upright, if it says none.
int exif_orientation(std::span<const std::byte> tiff);

/// Whether the orientation exchanges height and width.
inline bool exchanges_axes(int orientation) { return orientation >= 5; }

/// The picture rotated upright: 2 to 4 are flips and a half turn, 5 to 8 also exchange the axes.
Picture upright(const Picture& from, int orientation);
/// The size of that.
PictureSize upright(const PictureSize& size, int orientation);

}  // namespace mirrortrain::data
