#pragma once

#include <cstdint>

#include "data/dataset.h"
#include "data/pictures/picture.h"

namespace mirrortrain::data {

/// Whether examples are pictures: [height, width, 1 or 3]; or [height, width], where they are bytes or `input`, what
/// the model takes, has the channel.
bool holds_pictures(const Dataset& dataset, const Shape& input);

/// An example of a data set that holds pictures, as it was read, before any preprocessing. Of numbers that are no bytes
/// 0 is black and 255 white; where all of a picture lie within [0, 1] 1 is white, and where some lie outside of both
/// the least is black and the largest white. One with a side of more than `most_pixels` is reduced by a whole factor.
Picture picture_of(const Dataset& dataset, std::int64_t row, std::int64_t most_pixels);

}  // namespace mirrortrain::data
