#include <array>
#include <span>
#include <variant>

#include "data/pictures/color_steps.h"
#include "data/pictures/composed_steps.h"
#include "data/pictures/move_picture.h"
#include "data/pictures/moving_steps.h"
#include "data/pictures/picture_steps.h"
#include "data/pictures/sizing_steps.h"

namespace mirrortrain::data {
namespace {

class Contrast : public PictureStep {
 public:
  Contrast(const RandomContrast& step, const Extents& from) : PictureStep(from), range_(step.value_range) {
    const auto* const both = std::get_if<std::array<double, 2>>(&step.factor.value);
    lower_ = both != nullptr ? (*both)[0] : std::get<double>(step.factor.value);
    upper_ = both != nullptr ? (*both)[1] : lower_;
  }
  bool acts(const Draw& draw) const override { return draw.trains; }
  void apply(const Draw& draw, const float* from, float* to) const override {
    change_contrast(from, result(), draw.between(0, 1 - lower_, 1 + upper_), range_, to);
  }

 private:
  std::array<double, 2> range_;
  double lower_ = 0, upper_ = 0;
};

/// A transform of individual numbers between transforms of pictures.
class Scale : public PictureStep {
 public:
  Scale(const PreprocessingStep& step, const Extents& from) : PictureStep(from), affine_(fold(std::span(&step, 1))) {}
  void apply(const Draw&, const float* from, float* to) const override {
    for (std::size_t i = 0; i < static_cast<std::size_t>(result().elements()); ++i) {
      const std::size_t c = i % affine_.period();
      to[i] =
          static_cast<float>((static_cast<double>(from[i]) - affine_.shift[c]) * affine_.scale[c] + affine_.offset[c]);
    }
  }

 private:
  Affine affine_;
};

struct Make {
  const PreprocessingStep& step;
  const Extents& from;
  std::unique_ptr<PictureStep> operator()(const OneHot&) const { return nullptr; }
  std::unique_ptr<PictureStep> operator()(const Binning&) const { return nullptr; }  // see data/reading/bins.h
  std::unique_ptr<PictureStep> operator()(const Rescaling&) const { return std::make_unique<Scale>(step, from); }
  std::unique_ptr<PictureStep> operator()(const Normalization&) const { return std::make_unique<Scale>(step, from); }
  std::unique_ptr<PictureStep> operator()(const Resizing& held) const { return make_sizing_step(held, from); }
  std::unique_ptr<PictureStep> operator()(const CenterCrop& held) const { return make_sizing_step(held, from); }
  std::unique_ptr<PictureStep> operator()(const RandomCrop& held) const { return make_sizing_step(held, from); }
  std::unique_ptr<PictureStep> operator()(const RandomFlip& held) const { return make_moving_step(held, from); }
  std::unique_ptr<PictureStep> operator()(const RandomTranslation& held) const { return make_moving_step(held, from); }
  std::unique_ptr<PictureStep> operator()(const RandomRotation& held) const { return make_moving_step(held, from); }
  std::unique_ptr<PictureStep> operator()(const RandomZoom& held) const { return make_moving_step(held, from); }
  std::unique_ptr<PictureStep> operator()(const RandomShear& held) const { return make_moving_step(held, from); }
  std::unique_ptr<PictureStep> operator()(const RandomPerspective& held) const { return make_moving_step(held, from); }
  std::unique_ptr<PictureStep> operator()(const RandomElasticTransform& held) const {
    return make_moving_step(held, from);
  }
  std::unique_ptr<PictureStep> operator()(const RandomContrast& held) const {
    return std::make_unique<Contrast>(held, from);
  }
  std::unique_ptr<PictureStep> operator()(const RandAugment& held) const { return make_composed(held, from); }
  std::unique_ptr<PictureStep> operator()(const AugMix& held) const { return make_composed(held, from); }
  template <class OfColors>
  std::unique_ptr<PictureStep> operator()(const OfColors&) const {
    return make_color_step(step, from);
  }
};

}  // namespace

std::unique_ptr<PictureStep> make_picture_step(const PreprocessingStep& step, const Extents& from) {
  return config::visit(Make{step, from}, step);
}

}  // namespace mirrortrain::data
