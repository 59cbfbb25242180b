#pragma once

#include <memory>

#include "data/pictures/picture_steps.h"

namespace mirrortrain::data {

// Transforms that give pictures another size, prepared for pictures of one size.
std::unique_ptr<PictureStep> make_sizing_step(const Resizing& step, const Extents& from);
std::unique_ptr<PictureStep> make_sizing_step(const CenterCrop& step, const Extents& from);
std::unique_ptr<PictureStep> make_sizing_step(const RandomCrop& step, const Extents& from);

}  // namespace mirrortrain::data
