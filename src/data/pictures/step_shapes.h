#pragma once

#include <string_view>

#include "base/shape.h"
#include "data/pictures/picture_steps.h"

namespace mirrortrain::data {

// What a transform takes and gives: of several, see picture_steps.h.

/// Pictures are [height, width, channels], or [height, width] for one channel.
inline Extents extents_of_picture(const Shape& example) {
  return {example[0], example[1], example.rank() == 3 ? example[2] : 1};
}

/// "random_flip".
std::string_view step_name(const PreprocessingStep& step);

/// The shape of examples after a transform. Throws KeyError if they are not pictures.
Shape shape_after(const PreprocessingStep& step, const Shape& example);

}  // namespace mirrortrain::data
