#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "data/preprocessing/picture_preprocessing.h"

namespace mirrortrain::data {

// The transforms of pictures' colors, with Keras's names and meanings. auto_contrast and CLAHE act at every split, the
// others in training alone.

/// What a transform of colors has that depends on the range of its pixels. Most choose new pixels by it, such as its
/// upper end less the pixel; of those with kOnlyCuts, or whose only_cuts() is true, it only cuts what is beyond.
struct OfRange : OfInput {
  std::array<double, 2> value_range{0, 255};
  static config::Section<OfRange> section();
};

/// A random factor, and the range.
struct ColorFactor : OfRange {
  config::Located<Factor> factor;
};

struct RandomBrightness : ColorFactor {
  static constexpr std::string_view kName = "random_brightness";
  static config::Section<RandomBrightness> section();
};

struct RandomSaturation : ColorFactor {
  static constexpr std::string_view kName = "random_saturation";
  static constexpr bool kOnlyCuts = true;
  static constexpr bool kOfColors = true;  ///< pictures have three channels: red, green and blue
  static config::Section<RandomSaturation> section();
};

struct RandomHue : ColorFactor {
  static constexpr std::string_view kName = "random_hue";
  static constexpr bool kOnlyCuts = true;
  static constexpr bool kOfColors = true;
  static config::Section<RandomHue> section();
};

struct RandomColorDegeneration : ColorFactor {
  static constexpr std::string_view kName = "random_color_degeneration";
  static constexpr bool kOnlyCuts = true;
  static constexpr bool kOfColors = true;
  static config::Section<RandomColorDegeneration> section();
};

struct RandomSharpness : ColorFactor {
  static constexpr std::string_view kName = "random_sharpness";
  static constexpr bool kOnlyCuts = true;
  static constexpr std::string_view kAliases = "random_adjust_sharpness";
  static config::Section<RandomSharpness> section();
};

struct RandomPosterization : ColorFactor {
  static constexpr std::string_view kName = "random_posterization";
  static constexpr std::string_view kAliases = "random_posterize";
  static config::Section<RandomPosterization> section();
};

struct RandomInvert : ColorFactor {
  static constexpr std::string_view kName = "random_invert";
  RandomInvert() { factor.value = 1.0; }
  static config::Section<RandomInvert> section();
};

struct RandomGrayscale : OfInput {
  static constexpr std::string_view kName = "random_grayscale";
  static constexpr bool kOfColors = true;
  config::Located<double> factor{0.5, {}, {}};
  static config::Section<RandomGrayscale> section();
};

/// A number of one of Keras's other layers each, or null: it does not change that.
struct RandomColorJitter : OfRange {
  static constexpr std::string_view kName = "random_color_jitter";
  static constexpr std::string_view kAliases = "color_jitter";
  static constexpr bool kOfColors = true;
  std::optional<Factor> brightness_factor, contrast_factor, saturation_factor, hue_factor;
  bool only_cuts() const { return !brightness_factor; }
  static config::Section<RandomColorJitter> section();
};

struct Solarization : OfRange {
  static constexpr std::string_view kName = "solarization";
  static constexpr std::string_view kAliases = "random_solarize";
  Factor addition_factor, threshold_factor;
  static config::Section<Solarization> section();
};

struct AutoContrast : OfRange {
  static constexpr std::string_view kName = "auto_contrast";
  static constexpr std::string_view kAliases = "random_autocontrast";
  static constexpr bool kAlwaysActs = true;
  static config::Section<AutoContrast> section();
};

struct Equalization : OfRange {
  static constexpr std::string_view kName = "equalization";
  static constexpr std::string_view kAliases = "random_equalize";
  std::int64_t bins = 256;
  static config::Section<Equalization> section();
};

struct ContrastLimitedAdaptiveHistogramEqualization : OfRange {
  static constexpr std::string_view kName = "contrast_limited_adaptive_histogram_equalization";
  static constexpr std::string_view kAliases = "clahe";
  static constexpr bool kAlwaysActs = true;
  double clip_limit = 4;
  std::array<std::int64_t, 2> tile_grid_size{8, 8};
  static config::Section<ContrastLimitedAdaptiveHistogramEqualization> section();
};

struct RandomGaussianBlur : ColorFactor {
  static constexpr std::string_view kName = "random_gaussian_blur";
  static constexpr bool kOnlyCuts = true;
  static constexpr std::string_view kAliases = "gaussian_blur";
  std::array<std::int64_t, 2> kernel_size{3, 3};
  Factor sigma = 1.0;
  RandomGaussianBlur() { factor.value = 1.0; }
  static config::Section<RandomGaussianBlur> section();
};

/// One number for all channels, or one for each of three.
using FillColor = std::variant<double, std::array<double, 3>>;

struct RandomErasing : ColorFactor {
  static constexpr std::string_view kName = "random_erasing";
  static constexpr std::string_view kAliases = "cutout";
  Factor scale = std::array<double, 2>{0.02, 0.33};
  std::optional<FillColor> fill_value;  ///< null: normal numbers times the range's upper end
  bool only_cuts() const { return fill_value.has_value(); }
  RandomErasing() { factor.value = 1.0; }
  static config::Section<RandomErasing> section();
};

}  // namespace mirrortrain::data

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::data::FillColor> {
  static constexpr std::string_view noun = "a number or a list of three";
};
