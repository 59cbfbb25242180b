#pragma once

#include <cstdint>
#include <span>

#include "data/dataset.h"
#include "data/pictures/picture.h"

namespace mirrortrain::data {

/// Whether an input's features are pictures: [height, width, 1 or 3]; or [height, width] if they are bytes or if the
/// input's `shape` in the model has a channel axis.
bool holds_pictures(const Dataset& dataset, std::size_t input, const Shape& shape);

/// An example of a data set of pictures, as read, before any preprocessing. For bytes, 0 is black and 255 is white; for
/// other numbers, 1 is white if all of a picture are in [0, 1], 255 if all are in [0, 255]; otherwise the minimum is
/// black and the maximum white. A picture with a side of more than `most_pixels` is reduced by an integer factor.
Picture picture_of(const Dataset& dataset, std::size_t input, std::int64_t row, std::int64_t most_pixels);
/// The same of numbers [height, width] or [height, width, channels]. `are_bytes`: whether they have the range of bytes.
Picture picture_of(std::span<const float> numbers, const Shape& shape, bool are_bytes, std::int64_t most_pixels);

}  // namespace mirrortrain::data
