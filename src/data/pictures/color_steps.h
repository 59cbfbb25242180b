#pragma once

#include <memory>

#include "data/pictures/picture_steps.h"

namespace mirrortrain::data {

/// A transform of colors prepared for pictures of one size; null for other transforms.
std::unique_ptr<PictureStep> make_color_step(const PreprocessingStep& step, const Extents& from);

}  // namespace mirrortrain::data
