#pragma once

#include <memory>

#include "data/pictures/picture_steps.h"

namespace mirrortrain::data {

// Random transforms that move the pixels of pictures, prepared for pictures of one size.
std::unique_ptr<PictureStep> make_moving_step(const RandomFlip& step, const Extents& from);
std::unique_ptr<PictureStep> make_moving_step(const RandomTranslation& step, const Extents& from);
std::unique_ptr<PictureStep> make_moving_step(const RandomRotation& step, const Extents& from);
std::unique_ptr<PictureStep> make_moving_step(const RandomZoom& step, const Extents& from);
std::unique_ptr<PictureStep> make_moving_step(const RandomShear& step, const Extents& from);
std::unique_ptr<PictureStep> make_moving_step(const RandomPerspective& step, const Extents& from);
std::unique_ptr<PictureStep> make_moving_step(const RandomElasticTransform& step, const Extents& from);

}  // namespace mirrortrain::data
