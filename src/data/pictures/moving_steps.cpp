#include "data/pictures/moving_steps.h"

#include <algorithm>
#include <array>
#include <optional>
#include <variant>
#include <vector>

#include "data/pictures/elastic.h"
#include "data/pictures/move_picture.h"

namespace mirrortrain::data {
namespace {

class Flip : public PictureStep {
 public:
  Flip(const RandomFlip& step, const Extents& from) : PictureStep(from), mode_(step.mode.value) {}
  bool acts(const Draw& draw) const override { return draw.trains && draw.between(0, 0, 1) <= 0.5f; }
  void apply(const Draw&, const float* from, float* to) const override { flip(from, result(), mode_, to); }

 private:
  FlipMode mode_;
};

class Translate : public PictureStep {
 public:
  Translate(const RandomTranslation& step, const Extents& from)
      : PictureStep(from),
        filling_(step),
        down_(bounds_of(step.height_factor.value)),
        right_(bounds_of(step.width_factor)) {}
  bool acts(const Draw& draw) const override { return draw.trains; }
  void apply(const Draw& draw, const float* from, float* to) const override {
    const float down = draw.between(0, down_.lower, down_.upper) * static_cast<float>(result().height);
    const float right = draw.between(1, right_.lower, right_.upper) * static_cast<float>(result().width);
    move(from, result(), translation(down, right), filling_, to);
  }

 private:
  Filling filling_;
  Bounds down_, right_;
};

class Rotate : public PictureStep {
 public:
  Rotate(const RandomRotation& step, const Extents& from)
      : PictureStep(from), filling_(step), turn_(bounds_of(step.factor.value)) {}
  bool acts(const Draw& draw) const override { return draw.trains; }
  void apply(const Draw& draw, const float* from, float* to) const override {
    move(from, result(), rotation(result(), draw.between(0, turn_.lower, turn_.upper)), filling_, to);
  }

 private:
  Filling filling_;
  Bounds turn_;
};

class Zoom : public PictureStep {
 public:
  Zoom(const RandomZoom& step, const Extents& from)
      : PictureStep(from), filling_(step), height_(bounds_of(step.height_factor.value)) {
    if (step.width_factor) width_ = bounds_of(*step.width_factor);
  }
  bool acts(const Draw& draw) const override { return draw.trains; }
  void apply(const Draw& draw, const float* from, float* to) const override {
    const float height = draw.between(0, 1 + height_.lower, 1 + height_.upper);
    const float width = width_ ? draw.between(1, 1 + width_->lower, 1 + width_->upper) : height;
    move(from, result(), zoom(result(), height, width), filling_, to);
  }

 private:
  Filling filling_;
  Bounds height_;
  std::optional<Bounds> width_;
};

class Shear : public PictureStep {
 public:
  Shear(const RandomShear& step, const Extents& from)
      : PictureStep(from), filling_(step), x_(bounds_from(step.x_factor.value)), y_(bounds_from(step.y_factor)) {}
  bool acts(const Draw& draw) const override { return draw.trains; }
  void apply(const Draw& draw, const float* from, float* to) const override {
    const float side = draw.between(2, 0, 1) > 0.5f ? -1.0f : 1.0f;
    const float x = side * draw.between(0, x_.lower, x_.upper), y = side * draw.between(1, y_.lower, y_.upper);
    move(from, result(), shear(x, y), filling_, to);
  }

 private:
  Filling filling_;
  Bounds x_, y_;
};

class Perspective : public PictureStep {
 public:
  Perspective(const RandomPerspective& step, const Extents& from)
      : PictureStep(from),
        filling_(filling_of(step)),
        probability_(bounds_from(step.factor.value)),
        scale_(step.scale) {}
  bool acts(const Draw& draw) const override { return draw.trains && is_chosen(draw, probability_); }
  void apply(const Draw& draw, const float* from, float* to) const override {
    RandomNumbers random(draw.words.word[2], draw.words.word[3]);
    const auto right = static_cast<float>(result().width - 1), bottom = static_cast<float>(result().height - 1);
    std::array<std::array<float, 2>, 4> corners{{{0, 0}, {right, 0}, {0, bottom}, {right, bottom}}};
    for (auto& corner : corners) {
      for (float& place : corner) place += place * static_cast<float>((random.uniform() - 0.5) * scale_);
    }
    move(from, result(), perspective(result(), corners), filling_, to);
  }

 private:
  static Filling filling_of(const RandomPerspective& step) {
    return {FillMode::kConstant, step.interpolation, step.fill_value};
  }

  Filling filling_;
  Bounds probability_;
  double scale_;
};

class Elastic : public PictureStep {
 public:
  Elastic(const RandomElasticTransform& step, const Extents& from)
      : PictureStep(from), step_(step), probability_(bounds_from(step.factor.value)), scale_(bounds_from(step.scale)) {}
  bool acts(const Draw& draw) const override { return draw.trains && is_chosen(draw, probability_); }
  void apply(const Draw& draw, const float* from, float* to) const override {
    thread_local std::vector<float> right, down;
    RandomNumbers random(draw.words.word[2], draw.words.word[3]);
    const auto strength = static_cast<float>(scale_.lower + (scale_.upper - scale_.lower) * random.uniform());
    draw_elastic_field(result(), strength, random, right);
    draw_elastic_field(result(), strength, random, down);
    displace(from, result(), right.data(), down.data(), step_, to);
    if (step_.moves_only) return;
    const auto least = static_cast<float>(step_.value_range[0]), largest = static_cast<float>(step_.value_range[1]);
    std::transform(to, to + result().elements(), to, [&](float x) { return std::clamp(x, least, largest); });
  }

 private:
  RandomElasticTransform step_;
  Bounds probability_, scale_;
};

}  // namespace

std::unique_ptr<PictureStep> make_moving_step(const RandomFlip& step, const Extents& from) {
  return std::make_unique<Flip>(step, from);
}

std::unique_ptr<PictureStep> make_moving_step(const RandomTranslation& step, const Extents& from) {
  return std::make_unique<Translate>(step, from);
}

std::unique_ptr<PictureStep> make_moving_step(const RandomRotation& step, const Extents& from) {
  return std::make_unique<Rotate>(step, from);
}

std::unique_ptr<PictureStep> make_moving_step(const RandomZoom& step, const Extents& from) {
  return std::make_unique<Zoom>(step, from);
}

std::unique_ptr<PictureStep> make_moving_step(const RandomShear& step, const Extents& from) {
  return std::make_unique<Shear>(step, from);
}

std::unique_ptr<PictureStep> make_moving_step(const RandomPerspective& step, const Extents& from) {
  return std::make_unique<Perspective>(step, from);
}

std::unique_ptr<PictureStep> make_moving_step(const RandomElasticTransform& step, const Extents& from) {
  return std::make_unique<Elastic>(step, from);
}

}  // namespace mirrortrain::data
