#include "data/pictures/picture_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <span>

#include "data/key_error.h"
#include "data/pictures/color_steps.h"
#include "data/pictures/composed_steps.h"
#include "data/pictures/elastic.h"
#include "data/pictures/move_picture.h"

namespace mirrortrain::data {
namespace {

Extents extents_of(const Shape& example) { return {example[0], example[1], example.rank() == 3 ? example[2] : 1}; }

void copy(const float* from, const Extents& extents, float* to) {
  std::memcpy(to, from, static_cast<std::size_t>(extents.elements()) * sizeof(float));
}

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

class Flip : public PictureStep {
 public:
  Flip(const RandomFlip& step, const Extents& from) : PictureStep(from), mode_(step.mode.value) {}
  bool acts(const Draw& draw) const override { return draw.trains && draw.between(0, 0, 1) <= 0.5f; }
  void apply(const Draw&, const float* from, float* to) const override { flip(from, result(), mode_, to); }

 private:
  FlipMode mode_;
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

/// [lower, upper], or a number f for [0, f].
Bounds up_from_zero(const Factor& factor) {
  const Bounds bounds = bounds_of(factor);
  return std::holds_alternative<double>(factor) ? Bounds{0, bounds.upper} : bounds;
}

class Shear : public PictureStep {
 public:
  Shear(const RandomShear& step, const Extents& from)
      : PictureStep(from), filling_(step), x_(up_from_zero(step.x_factor.value)), y_(up_from_zero(step.y_factor)) {}
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

/// Whether a transform that changes some pictures changes this one: its probability is drawn, too.
bool is_chosen(const Draw& draw, const Bounds& probability) {
  return draw.between(0, 0, 1) < draw.between(1, probability.lower, probability.upper);
}

class Perspective : public PictureStep {
 public:
  Perspective(const RandomPerspective& step, const Extents& from)
      : PictureStep(from),
        filling_(filling_of(step)),
        probability_(up_from_zero(step.factor.value)),
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
      : PictureStep(from),
        step_(step),
        probability_(up_from_zero(step.factor.value)),
        scale_(up_from_zero(step.scale)) {}
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

template <class Made, class Step>
std::unique_ptr<PictureStep> made(const Step& step, const Extents& from) {
  return std::make_unique<Made>(step, from);
}

struct Make {
  const PreprocessingStep& step;
  const Extents& from;
  std::unique_ptr<PictureStep> operator()(const OneHot&) const { return nullptr; }
  std::unique_ptr<PictureStep> operator()(const Binning&) const { return nullptr; }  // see data/reading/bins.h
  std::unique_ptr<PictureStep> operator()(const Rescaling&) const { return made<Scale>(step, from); }
  std::unique_ptr<PictureStep> operator()(const Normalization&) const { return made<Scale>(step, from); }
  std::unique_ptr<PictureStep> operator()(const Resizing& held) const {
    const bool keeps_ratio = held.crop_to_aspect_ratio || held.pad_to_aspect_ratio;
    return keeps_ratio ? made<ResizeAtRatio>(held, from) : made<Resize>(held, from);
  }
  std::unique_ptr<PictureStep> operator()(const CenterCrop& held) const { return made<Center>(held, from); }
  std::unique_ptr<PictureStep> operator()(const RandomFlip& held) const { return made<Flip>(held, from); }
  std::unique_ptr<PictureStep> operator()(const RandomCrop& held) const { return made<Crop>(held, from); }
  std::unique_ptr<PictureStep> operator()(const RandomTranslation& held) const { return made<Translate>(held, from); }
  std::unique_ptr<PictureStep> operator()(const RandomRotation& held) const { return made<Rotate>(held, from); }
  std::unique_ptr<PictureStep> operator()(const RandomZoom& held) const { return made<Zoom>(held, from); }
  std::unique_ptr<PictureStep> operator()(const RandomShear& held) const { return made<Shear>(held, from); }
  std::unique_ptr<PictureStep> operator()(const RandomContrast& held) const { return made<Contrast>(held, from); }
  std::unique_ptr<PictureStep> operator()(const RandomPerspective& held) const { return made<Perspective>(held, from); }
  std::unique_ptr<PictureStep> operator()(const RandomElasticTransform& held) const {
    return made<Elastic>(held, from);
  }
  std::unique_ptr<PictureStep> operator()(const RandAugment& held) const { return make_composed(held, from); }
  std::unique_ptr<PictureStep> operator()(const AugMix& held) const { return make_composed(held, from); }
  template <class OfColors>
  std::unique_ptr<PictureStep> operator()(const OfColors&) const {
    return make_color_step(step, from);
  }
};

bool acts(const PreprocessingStep& step, const Shape& example, bool trains) {
  if (!is_of_pictures(step)) return true;
  const std::optional<Extents> size = size_after(step);
  if (!size) return trains || always_acts(step);
  if (trains && std::holds_alternative<RandomCrop>(step)) return true;
  return size->height != example[0] || size->width != example[1];
}

void require_picture(const PreprocessingStep& step, const Shape& example) {
  if (const std::string mismatch = picture_mismatch(step, example); !mismatch.empty()) {
    const StepPlace at = located(step);
    throw KeyError(at.place, at.path.empty() ? "data.preprocessing" : at.path, mismatch);
  }
}

Shape shape_after(const PreprocessingStep& step, const Shape& example) {
  if (const Binning* const binning = as_binning(step)) {
    return shape_after_bins(binning->output_mode, bins_of(step), example);
  }
  if (!is_of_pictures(step)) return example;
  require_picture(step, example);
  const std::optional<Extents> size = size_after(step);
  if (!size) return example;
  return {size->height, size->width, extents_of(example).channels};
}

}  // namespace

std::unique_ptr<PictureStep> make_picture_step(const PreprocessingStep& step, const Extents& from) {
  return std::visit(Make{step, from}, step);
}

StepPlace located(const PreprocessingStep& step) {
  return std::visit(
      [](const auto& held) -> StepPlace {
        const auto of_section = [](const auto& key) -> StepPlace {
          return {key.place, key.path.substr(0, key.path.rfind('.'))};
        };
        if constexpr (requires { held.height; }) {
          return of_section(held.height);
        } else if constexpr (requires { held.height_factor; }) {
          return of_section(held.height_factor);
        } else if constexpr (requires { held.x_factor; }) {
          return of_section(held.x_factor);
        } else if constexpr (requires { held.factor.place; }) {
          return of_section(held.factor);
        } else if constexpr (requires { held.mode; }) {
          return of_section(held.mode);
        } else if constexpr (requires { held.variance; }) {
          return of_section(held.variance);
        } else if constexpr (requires { held.bin_boundaries; }) {
          return of_section(held.bin_boundaries);
        } else if constexpr (requires { held.num_bins.place; }) {
          return of_section(held.num_bins);
        } else if constexpr (requires { held.input; }) {
          return of_section(held.input);
        } else if constexpr (requires { held.inputs; }) {
          return of_section(held.inputs);
        } else {
          return {};
        }
      },
      step);
}

std::optional<Extents> size_after(const PreprocessingStep& step) {
  return std::visit(
      [](const auto& held) -> std::optional<Extents> {
        if constexpr (requires {
                        held.height;
                        held.width;
                      })
          return Extents{held.height.value, held.width, 0};
        return std::nullopt;
      },
      step);
}

std::string picture_mismatch(const PreprocessingStep& step, const Shape& example) {
  if (!is_of_pictures(step)) return "";
  const bool is_picture = (example.rank() == 2 || example.rank() == 3) && example.elements() > 0;
  const bool needs_colors = std::visit(
      [](const auto& held) {
        if constexpr (
            requires { held.moves_only; } && requires { held.kOfColors; })
          return !held.moves_only;
        if constexpr (requires { held.kOfColors; }) return true;
        return false;
      },
      step);
  if (is_picture && needs_colors && extents_of(example).channels != 3) {
    return fmt::format(
        "{} takes pictures of three channels, red, green and blue, and one example has the shape {}; "
        "leave it out",
        std::visit([](const auto& held) { return held.kName; }, step), example.text());
  }
  if (is_picture) return "";
  return fmt::format("{} takes pictures [height, width, channels], and one example has the shape {}; leave it out",
                     std::visit([](const auto& held) { return held.kName; }, step), example.text());
}

std::vector<PreprocessingStep> acting_steps(const std::vector<PreprocessingStep>& steps, const Shape& example,
                                            const Shape& wanted, bool trains) {
  std::vector<PreprocessingStep> acting;
  Shape shape = example;
  for (const PreprocessingStep& step : steps) {
    if (is_of_pictures(step)) require_picture(step, shape);
    if (const auto* const normalization = std::get_if<Normalization>(&step)) {
      acting.push_back(spread(*normalization, shared_statistics(*normalization, shape, wanted)));
    } else if (acts(step, shape, trains)) {
      acting.push_back(step);
    }
    shape = shape_after(step, shape);
  }
  return acting;
}

bool take_any_size(const std::vector<PreprocessingStep>& steps) {
  return std::ranges::any_of(steps, [](const auto& step) { return size_after(step).has_value(); });
}

std::vector<std::int64_t> shape_before(const std::vector<PreprocessingStep>& steps, const Shape& wanted) {
  if (take_any_size(steps)) return {kAnyExtent, kAnyExtent, wanted.back()};
  std::vector<std::int64_t> dims = wanted.dims();
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    const Binning* const bins = as_binning(*step);
    if (bins == nullptr || bins->output_mode == BinOutput::kInt) continue;
    dims.pop_back();
    if (bins->output_mode != BinOutput::kOneHot) dims.insert(dims.begin(), kAnyExtent);
    if (dims.empty()) dims.push_back(1);
  }
  return dims;
}

Shape shape_after(const std::vector<PreprocessingStep>& steps, const Shape& example) {
  Shape shape = example;
  for (const PreprocessingStep& step : steps) shape = shape_after(step, shape);
  return shape;
}

PictureSteps::PictureSteps(const std::vector<PreprocessingStep>& steps, const Shape& example, std::uint64_t seed)
    : from_(example.elements()), most_elements_(from_) {
  Shape shape = example;
  std::map<std::string_view, int> uses;
  for (const PreprocessingStep& step : steps) {
    shape = shape_after(step, shape);
    const std::string_view name = std::visit([](const auto& held) { return held.kName; }, step);
    const Extents from = steps_.empty() ? extents_of(example) : steps_.back().step->result();
    auto ready = make_picture_step(step, from);
    if (!ready) continue;
    most_elements_ = std::max(most_elements_, ready->result().elements());
    // Named by its type, so that other transforms before it do not change its random numbers.
    const std::uint64_t stream = hash_of_name(fmt::format("{} {}", name, uses[name]++));
    steps_.push_back({Philox::with_key(seed ^ stream), std::move(ready)});
  }
}

Draw PictureSteps::draw_of(const Step& step, std::int64_t example, std::int64_t epoch) {
  const auto low = [](std::int64_t number) { return static_cast<std::uint32_t>(number); };
  const auto high = [](std::int64_t number) { return static_cast<std::uint32_t>(number >> 32); };
  Draw draw;
  draw.trains = epoch > 0;
  if (draw.trains) draw.words = step.random(low(example), high(example), low(epoch), high(epoch));
  return draw;
}

std::optional<PictureWindow> PictureSteps::first_window(std::int64_t example, std::int64_t epoch) const {
  if (steps_.empty()) return std::nullopt;
  return steps_.front().step->window(draw_of(steps_.front(), example, epoch));
}

void PictureSteps::apply(std::int64_t example, std::int64_t epoch, const float* from, float* to) const {
  apply(0, example, epoch, from, to);
}

void PictureSteps::apply_behind_first(std::int64_t example, std::int64_t epoch, const float* from, float* to) const {
  apply(1, example, epoch, from, to);
}

void PictureSteps::apply(std::size_t first, std::int64_t example, std::int64_t epoch, const float* from,
                         float* to) const {
  thread_local std::array<std::vector<float>, 2> between;
  const PictureStep* last = nullptr;  // the last that acts
  Draw last_draw;
  std::size_t applied = 0;
  for (const Step& one : std::span(steps_).subspan(first)) {
    const Draw draw = draw_of(one, example, epoch);
    if (!one.step->acts(draw)) continue;
    if (last != nullptr) {
      std::vector<float>& buffer = between[applied++ % 2];
      buffer.resize(static_cast<std::size_t>(most_elements_));
      last->apply(last_draw, from, buffer.data());
      from = buffer.data();
    }
    last = one.step.get();
    last_draw = draw;
  }
  if (last == nullptr) {
    copy(from, steps_.back().step->result(), to);
  } else {
    last->apply(last_draw, from, to);
  }
}

}  // namespace mirrortrain::data
