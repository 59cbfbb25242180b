#include "data/pictures/sizing_steps.h"

#include <algorithm>
#include <vector>

#include "data/pictures/move_picture.h"

namespace mirrortrain::data {
namespace {

/// A window of a picture, which may extend beyond it.
struct Window {
  std::int64_t top = 0, left = 0;
  Extents extents;
};

/// The centered window with the aspect ratio of `to`, inside a picture or enclosing it.
Window at_ratio(const Extents& from, const Extents& to, bool outside) {
  const auto scaled = [](std::int64_t extent, std::int64_t by, std::int64_t through) {
    return static_cast<std::int64_t>(static_cast<float>(extent * by) / static_cast<float>(through));
  };
  const std::int64_t height = scaled(from.width, to.height, to.width), width = scaled(from.height, to.width, to.height);
  Extents extents = from;
  extents.height = outside ? std::max(from.height, height) : std::max<std::int64_t>(std::min(from.height, height), 1);
  extents.width = outside ? std::max(from.width, width) : std::max<std::int64_t>(std::min(from.width, width), 1);
  return {(from.height - extents.height) / 2, (from.width - extents.width) / 2, extents};
}

class Resize : public PictureStep {
 public:
  Resize(const Resizing& step, const Extents& from)
      : PictureStep({step.height.value, step.width, from.channels}),
        resample_(from, step.height.value, step.width, step.interpolation, step.antialias) {}
  void apply(const Draw&, const float* from, float* to) const override { resample_(from, to); }

 private:
  Resampling resample_;
};

/// Crops or pads to the aspect ratio, then resizes.
class ResizeAtRatio : public PictureStep {
 public:
  ResizeAtRatio(const Resizing& step, const Extents& from)
      : PictureStep({step.height.value, step.width, from.channels}),
        from_(from),
        window_(at_ratio(from, result(), step.pad_to_aspect_ratio)),
        fill_value_(static_cast<float>(step.fill_value)),
        resample_(padded_alike(window_, from), step.height.value, step.width, step.interpolation, step.antialias) {}

  void apply(const Draw&, const float* from, float* to) const override {
    thread_local std::vector<float> window;
    const Extents extents = padded_alike(window_, from_);
    window.resize(static_cast<std::size_t>(extents.elements()));
    crop(from, from_, window_.top, window_.left, extents, window.data());
    if (fill_value_ != 0) fill_around(window.data(), extents);
    resample_(window.data(), to);
  }

 private:
  /// Both sides get equal padding: an odd pixel is dropped.
  static Extents padded_alike(const Window& window, const Extents& from) {
    Extents extents = window.extents;
    if (window.top < 0) extents.height = from.height - 2 * window.top;
    if (window.left < 0) extents.width = from.width - 2 * window.left;
    if (window.top == 0 && extents.height > from.height) extents.height = from.height;
    if (window.left == 0 && extents.width > from.width) extents.width = from.width;
    return extents;
  }
  void fill_around(float* pixels, const Extents& extents) const {
    for (std::int64_t y = 0; y < extents.height; ++y) {
      for (std::int64_t x = 0; x < extents.width; ++x, pixels += extents.channels) {
        const std::int64_t row = y + window_.top, column = x + window_.left;
        const bool is_inside = row >= 0 && row < from_.height && column >= 0 && column < from_.width;
        if (!is_inside) std::fill_n(pixels, extents.channels, fill_value_);
      }
    }
  }

  Extents from_;
  Window window_;
  float fill_value_;
  Resampling resample_;
};

Resizing to_ratio(std::int64_t height, std::int64_t width) {
  Resizing resizing;
  resizing.height.value = height;
  resizing.width = width;
  resizing.crop_to_aspect_ratio = true;
  return resizing;
}

class Center : public PictureStep {
 public:
  Center(const CenterCrop& step, const Extents& from)
      : PictureStep({step.height.value, step.width, from.channels}),
        from_(from),
        resize_(to_ratio(step.height.value, step.width), from) {}
  void apply(const Draw& draw, const float* from, float* to) const override {
    const std::int64_t down = from_.height - result().height, right = from_.width - result().width;
    if (down < 0 || right < 0) return resize_.apply(draw, from, to);
    crop(from, from_, down / 2, right / 2, result(), to);
  }

 private:
  Extents from_;
  ResizeAtRatio resize_;
};

class Crop : public PictureStep {
 public:
  Crop(const RandomCrop& step, const Extents& from)
      : PictureStep({step.height.value, step.width, from.channels}),
        from_(from),
        padding_(step.padding),
        down_(from.height + 2 * padding_ - step.height.value),
        right_(from.width + 2 * padding_ - step.width),
        resize_(to_ratio(step.height.value, step.width), from) {}
  void apply(const Draw& draw, const float* from, float* to) const override {
    if (!draw.trains || down_ < 0 || right_ < 0) return resize_.apply(draw, from, to);
    const PictureWindow drawn = draw_window(draw);
    crop(from, from_, drawn.top, drawn.left, result(), to);
  }
  std::optional<PictureWindow> window(const Draw& draw) const override {
    if (!draw.trains || down_ < 0 || right_ < 0) return std::nullopt;
    const PictureWindow drawn = draw_window(draw);
    const bool is_inside = drawn.top >= 0 && drawn.left >= 0 && drawn.top + drawn.height <= from_.height &&
                           drawn.left + drawn.width <= from_.width;
    return is_inside ? std::optional(drawn) : std::nullopt;
  }

 private:
  Extents from_;
  PictureWindow draw_window(const Draw& draw) const {
    return {draw.below(0, down_ + 1) - padding_, draw.below(1, right_ + 1) - padding_, result().height, result().width};
  }

  std::int64_t padding_, down_, right_;
  ResizeAtRatio resize_;
};

}  // namespace

std::unique_ptr<PictureStep> make_sizing_step(const Resizing& step, const Extents& from) {
  if (step.crop_to_aspect_ratio || step.pad_to_aspect_ratio) return std::make_unique<ResizeAtRatio>(step, from);
  return std::make_unique<Resize>(step, from);
}

std::unique_ptr<PictureStep> make_sizing_step(const CenterCrop& step, const Extents& from) {
  return std::make_unique<Center>(step, from);
}

std::unique_ptr<PictureStep> make_sizing_step(const RandomCrop& step, const Extents& from) {
  return std::make_unique<Crop>(step, from);
}

}  // namespace mirrortrain::data
