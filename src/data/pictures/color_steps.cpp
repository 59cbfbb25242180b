#include "data/pictures/color_steps.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/philox.h"
#include "data/pictures/color.h"
#include "data/pictures/move_picture.h"

namespace mirrortrain::data {
namespace {

/// What a transform makes of a picture in training.
using Change = std::function<void(const Draw&, const float* from, const Extents& extents, float* to)>;

class ColorStep : public PictureStep {
 public:
  ColorStep(const Extents& from, Change change, bool always = false)
      : PictureStep(from), change_(std::move(change)), always_(always) {}
  bool acts(const Draw& draw) const override { return always_ || draw.trains; }
  void apply(const Draw& draw, const float* from, float* to) const override { change_(draw, from, result(), to); }

 private:
  Change change_;
  bool always_;
};

/// A transform that changes some pictures: with a probability that is drawn from its factor.
class SometimesStep : public ColorStep {
 public:
  SometimesStep(const Extents& from, const Bounds& probability, Change change)
      : ColorStep(from, std::move(change)), probability_(probability) {}
  bool acts(const Draw& draw) const override { return draw.trains && is_chosen(draw, probability_); }

 private:
  Bounds probability_;
};

float saturation_of(float drawn) { return drawn / (1 - drawn + 1e-7f); }

Change change_of(const RandomBrightness& step) {
  return [range = step.value_range, by = bounds_from(step.factor.value, -1)](const Draw& draw, const float* from,
                                                                             const Extents& extents, float* to) {
    const auto part = static_cast<double>(draw.between(0, by.lower, by.upper));
    change_brightness(from, extents, static_cast<float>(part * (range[1] - range[0])), range, to);
  };
}

Change change_of(const RandomSaturation& step) {
  return [range = step.value_range, by = bounds_from(step.factor.value)](const Draw& draw, const float* from,
                                                                         const Extents& extents, float* to) {
    change_saturation(from, extents, saturation_of(draw.between(0, by.lower, by.upper)), range, to);
  };
}

/// To either side, by the lowest bit of the word, which the drawn number does not have.
float turn_of(const Draw& draw, std::size_t word, const Bounds& by) {
  const float half = 0.5f * draw.between(word, by.lower, by.upper);
  return draw.words.word[word] % 2 == 0 ? half : -half;
}

Change change_of(const RandomHue& step) {
  return [range = step.value_range, by = bounds_from(step.factor.value)](const Draw& draw, const float* from,
                                                                         const Extents& extents, float* to) {
    turn_hue(from, extents, turn_of(draw, 0, by), range, to);
  };
}

Change change_of(const RandomColorDegeneration& step) {
  return [range = step.value_range, by = bounds_from(step.factor.value)](const Draw& draw, const float* from,
                                                                         const Extents& extents, float* to) {
    mix_with_gray(from, extents, draw.between(0, by.lower, by.upper), &range, to);
  };
}

Change change_of(const RandomSharpness& step) {
  return [range = step.value_range, by = bounds_from(step.factor.value)](const Draw& draw, const float* from,
                                                                         const Extents& extents, float* to) {
    sharpen(from, extents, draw.between(0, by.lower, by.upper), range, to);
  };
}

Change change_of(const RandomPosterization& step) {
  const Bounds by = bounds_from(step.factor.value, 1);
  const auto lower = static_cast<std::int64_t>(by.lower), upper = static_cast<std::int64_t>(by.upper);
  return
      [range = step.value_range, lower, upper](const Draw& draw, const float* from, const Extents& extents, float* to) {
        const std::int64_t bits = lower + (upper > lower ? draw.below(0, upper - lower) : 0);
        posterize(from, extents, static_cast<int>(bits), range, to);
      };
}

Change change_of(const RandomColorJitter& step) {
  const auto by = [](const std::optional<Factor>& factor, double least) {
    return factor ? std::optional(bounds_from(*factor, least)) : std::nullopt;
  };
  std::optional<Bounds> contrast = by(step.contrast_factor, 0);
  if (contrast) {  // as random_contrast: f is from 1 - f to 1 + f
    const bool is_one = std::holds_alternative<double>(*step.contrast_factor);
    contrast = Bounds{1 - (is_one ? contrast->upper : contrast->lower), 1 + contrast->upper};
  }
  return [range = step.value_range, brightness = by(step.brightness_factor, -1), contrast,
          saturation = by(step.saturation_factor, 0),
          hue = by(step.hue_factor, 0)](const Draw& draw, const float* from, const Extents& extents, float* to) {
    std::copy_n(from, extents.elements(), to);
    if (brightness) {
      const auto part = static_cast<double>(draw.between(0, brightness->lower, brightness->upper));
      change_brightness(to, extents, static_cast<float>(part * (range[1] - range[0])), range, to);
    }
    if (contrast) change_contrast(to, extents, draw.between(1, contrast->lower, contrast->upper), range, to);
    if (saturation) {
      change_saturation(to, extents, saturation_of(draw.between(2, saturation->lower, saturation->upper)), range, to);
    }
    if (hue) turn_hue(to, extents, turn_of(draw, 3, *hue), range, to);
  };
}

Change change_of(const Solarization& step) {
  return [range = step.value_range, addition = bounds_from(step.addition_factor),
          threshold = bounds_from(step.threshold_factor)](const Draw& draw, const float* from, const Extents& extents,
                                                          float* to) {
    // As Keras has it, the lower ends count as they are.
    solarize(from, extents, draw.between(0, addition.lower, addition.upper * 255),
             draw.between(1, threshold.lower, threshold.upper * 255), range, to);
  };
}

Change change_of(const AutoContrast& step) {
  return [range = step.value_range](const Draw&, const float* from, const Extents& extents, float* to) {
    stretch_contrast(from, extents, range, to);
  };
}

Change change_of(const Equalization& step) {
  return [range = step.value_range, bins = step.bins](const Draw&, const float* from, const Extents& extents,
                                                      float* to) { equalize(from, extents, bins, range, to); };
}

Change change_of(const ContrastLimitedAdaptiveHistogramEqualization& step) {
  return [range = step.value_range, limit = step.clip_limit, grid = step.tile_grid_size](
             const Draw&, const float* from, const Extents& extents, float* to) {
    equalize_tiles(from, extents, limit, grid, range, to);
  };
}

Change change_of(const RandomInvert& step) {
  return [largest = static_cast<float>(step.value_range[1])](const Draw&, const float* from, const Extents& extents,
                                                             float* to) {
    std::transform(from, from + extents.elements(), to, [largest](float x) { return largest - x; });
  };
}

Change change_of(const RandomGrayscale&) {
  return [](const Draw&, const float* from, const Extents& extents, float* to) {
    mix_with_gray(from, extents, 1, nullptr, to);
  };
}

Change change_of(const RandomGaussianBlur& step) {
  return [range = step.value_range, size = step.kernel_size, by = bounds_from(step.sigma)](
             const Draw& draw, const float* from, const Extents& extents, float* to) {
    const std::array sigma{draw.between(2, by.lower, by.upper) + 1e-6f, draw.between(3, by.lower, by.upper) + 1e-6f};
    blur(from, extents, size, sigma, range, to);
  };
}

/// Normal numbers of a picture: Box and Muller, from words that the draw's own words give.
float normal_number(const Draw& draw, std::int64_t element) {
  const Philox::Words words =
      Philox{draw.words.word[2], draw.words.word[3]}(static_cast<std::uint32_t>(element), 0, 0, 0);
  const double radius = std::sqrt(-2 * std::log((words.word[0] + 0.5) / 4294967296.0));
  return static_cast<float>(radius * std::cos(6.283185307179586 * (words.word[1] / 4294967296.0)));
}

Change change_of(const RandomErasing& step) {
  return [range = step.value_range, by = bounds_from(step.scale), fill = step.fill_value](
             const Draw& draw, const float* from, const Extents& extents, float* to) {
    const Philox::Words more = Philox{draw.words.word[2], draw.words.word[3]}(0, 1, 0, 0);
    const Draw place{draw.trains, more};
    const auto window = [&](std::size_t word, std::int64_t length) {
      const auto whole = static_cast<float>(length);
      const float part = std::sqrt(place.between(word, by.lower, by.upper)) * whole;
      const float begin = place.between(word + 2, 0, 1) * (whole - part);
      return std::pair(begin, begin + part);
    };
    const auto [left, right] = window(0, extents.width);
    const auto [top, bottom] = window(1, extents.height);
    std::copy_n(from, extents.elements(), to);
    const auto filled = [&](std::int64_t element, std::int64_t channel) {
      double value = 0;
      if (!fill)
        value = static_cast<double>(normal_number(draw, element)) * range[1];
      else if (const auto* one = std::get_if<double>(&*fill))
        value = *one;
      else
        value = std::get<std::array<double, 3>>(*fill)[static_cast<std::size_t>(channel % 3)];
      return static_cast<float>(std::clamp(value, range[0], range[1]));
    };
    for (std::int64_t i = 0; i < extents.elements(); ++i) {
      const auto row = static_cast<float>(i / (extents.width * extents.channels)),
                 column = static_cast<float>(i / extents.channels % extents.width);
      const bool is_inside = column >= left && column < right && row >= top && row < bottom;
      if (is_inside) to[i] = filled(i, i % extents.channels);
    }
  };
}

}  // namespace

std::unique_ptr<PictureStep> make_color_step(const PreprocessingStep& step, const Extents& from) {
  return config::visit(
      [&](const auto& held) -> std::unique_ptr<PictureStep> {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (requires { change_of(held); }) {
          if constexpr (std::is_same_v<Held, RandomInvert> || std::is_same_v<Held, RandomGaussianBlur> ||
                        std::is_same_v<Held, RandomErasing>) {
            return std::make_unique<SometimesStep>(from, bounds_from(held.factor.value), change_of(held));
          } else if constexpr (std::is_same_v<Held, RandomGrayscale>) {
            return std::make_unique<SometimesStep>(from, Bounds{held.factor.value, held.factor.value}, change_of(held));
          } else {
            return std::make_unique<ColorStep>(from, change_of(held), always_acts(held));
          }
        } else {
          return nullptr;
        }
      },
      step);
}

}  // namespace mirrortrain::data
