#pragma once

#include <memory>

#include "data/pictures/picture_steps.h"

namespace mirrortrain::data {

// Transforms that are composed of others, prepared for pictures of one size.
std::unique_ptr<PictureStep> make_composed(const RandAugment& step, const Extents& from);
std::unique_ptr<PictureStep> make_composed(const AugMix& step, const Extents& from);

}  // namespace mirrortrain::data
