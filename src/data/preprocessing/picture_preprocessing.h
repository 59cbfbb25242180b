#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "config/section.h"

namespace mirrortrain::data {

// The transforms of pictures, with Keras's names and meanings. Random ones act only in training.

enum class Interpolation : std::uint8_t { kNearest, kBilinear, kBicubic, kLanczos3, kLanczos5 };
/// Interpolation of moved pictures; a separate type, because fewer methods are possible.
enum class MovedInterpolation : std::uint8_t { kNearest, kBilinear };
/// The pixels beyond the edges of a picture.
enum class FillMode : std::uint8_t { kConstant, kNearest, kReflect, kWrap };
enum class FlipMode : std::uint8_t { kHorizontal, kVertical, kHorizontalAndVertical };

/// One number, or a lower and an upper bound.
using Factor = std::variant<double, std::array<double, 2>>;
struct Bounds {
  double lower = 0, upper = 0;
};
/// A single number f means from -f to f.
Bounds bounds_of(const Factor& factor);

/// What every transform of features has. It derives from it and ends its section with `.include<OfInput>()`.
struct OfInput {
  config::Located<std::optional<std::string>> input;  ///< of the model; null: the only one
  static config::Section<OfInput> section();
};

struct Resizing : OfInput {
  static constexpr std::string_view kName = "resizing";
  static constexpr std::string_view kAliases = "resize";
  config::Located<std::int64_t> height;
  std::int64_t width = 0;
  Interpolation interpolation = Interpolation::kBilinear;
  bool crop_to_aspect_ratio = false, pad_to_aspect_ratio = false;
  double fill_value = 0;
  bool antialias = false;
  static config::Section<Resizing> section();
};

struct CenterCrop : OfInput {
  static constexpr std::string_view kName = "center_crop";
  config::Located<std::int64_t> height;
  std::int64_t width = 0;
  static config::Section<CenterCrop> section();
};

struct RandomFlip : OfInput {
  static constexpr std::string_view kName = "random_flip";
  static constexpr std::string_view kAliases = "random_horizontal_flip";
  config::Located<FlipMode> mode{FlipMode::kHorizontalAndVertical, {}, {}};
  static config::Section<RandomFlip> section();
};

struct RandomCrop : OfInput {
  static constexpr std::string_view kName = "random_crop";
  config::Located<std::int64_t> height;
  std::int64_t width = 0, padding = 0;
  static config::Section<RandomCrop> section();
};

/// How a moved picture is filled.
struct Filling {
  FillMode fill_mode = FillMode::kReflect;
  MovedInterpolation interpolation = MovedInterpolation::kBilinear;
  double fill_value = 0;
  static config::Section<Filling> section();
};

struct RandomTranslation : OfInput, Filling {
  static constexpr std::string_view kName = "random_translation";
  config::Located<Factor> height_factor;
  Factor width_factor;
  static config::Section<RandomTranslation> section();
};

struct RandomRotation : OfInput, Filling {
  static constexpr std::string_view kName = "random_rotation";
  config::Located<Factor> factor;
  static config::Section<RandomRotation> section();
};

struct RandomZoom : OfInput, Filling {
  static constexpr std::string_view kName = "random_zoom";
  static constexpr std::string_view kAliases = "random_scale";
  config::Located<Factor> height_factor;
  std::optional<Factor> width_factor;  ///< null: as the height, so that the ratio stays
  static config::Section<RandomZoom> section();
};

struct RandomShear : OfInput, Filling {
  static constexpr std::string_view kName = "random_shear";
  config::Located<Factor> x_factor;
  Factor y_factor;
  static config::Section<RandomShear> section();
};

/// The corners of some pictures move.
struct RandomPerspective : OfInput {
  static constexpr std::string_view kName = "random_perspective";
  config::Located<Factor> factor{1.0, {}, {}};
  double scale = 1;
  MovedInterpolation interpolation = MovedInterpolation::kBilinear;
  double fill_value = 0;
  static config::Section<RandomPerspective> section();
};

struct RandomElasticTransform : OfInput, Filling {
  static constexpr std::string_view kName = "random_elastic_transform";
  static constexpr bool kOnlyCuts = true;  ///< what is beyond value_range
  static constexpr std::string_view kAliases = "elastic_transform";
  config::Located<Factor> factor{1.0, {}, {}};
  Factor scale = 1.0;
  std::array<double, 2> value_range{0, 255};
  /// Whether numbers beyond the range stay: for labels that are pictures.
  bool moves_only = false;
  static config::Section<RandomElasticTransform> section();
};

struct RandomContrast : OfInput {
  static constexpr std::string_view kName = "random_contrast";
  static constexpr bool kOnlyCuts = true;
  config::Located<Factor> factor;
  std::array<double, 2> value_range{0, 255};
  static config::Section<RandomContrast> section();
};

}  // namespace mirrortrain::data

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::data::Factor> {
  static constexpr std::string_view noun = "a number or a list [lower, upper]";
};
template <>
struct mirrortrain::config::EnumNames<mirrortrain::data::Interpolation> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::data::Interpolation>>({
      {"nearest", mirrortrain::data::Interpolation::kNearest},
      {"bilinear", mirrortrain::data::Interpolation::kBilinear},
      {"bicubic", mirrortrain::data::Interpolation::kBicubic},
      {"lanczos3", mirrortrain::data::Interpolation::kLanczos3},
      {"lanczos5", mirrortrain::data::Interpolation::kLanczos5},
  });
};
template <>
struct mirrortrain::config::EnumNames<mirrortrain::data::MovedInterpolation> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::data::MovedInterpolation>>({
      {"nearest", mirrortrain::data::MovedInterpolation::kNearest},
      {"bilinear", mirrortrain::data::MovedInterpolation::kBilinear},
  });
};
template <>
struct mirrortrain::config::EnumNames<mirrortrain::data::FillMode> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::data::FillMode>>({
      {"constant", mirrortrain::data::FillMode::kConstant},
      {"nearest", mirrortrain::data::FillMode::kNearest},
      {"reflect", mirrortrain::data::FillMode::kReflect},
      {"wrap", mirrortrain::data::FillMode::kWrap},
  });
};
template <>
struct mirrortrain::config::EnumNames<mirrortrain::data::FlipMode> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::data::FlipMode>>({
      {"horizontal", mirrortrain::data::FlipMode::kHorizontal},
      {"vertical", mirrortrain::data::FlipMode::kVertical},
      {"horizontal_and_vertical", mirrortrain::data::FlipMode::kHorizontalAndVertical},
  });
};
