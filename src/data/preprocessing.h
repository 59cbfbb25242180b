#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "config/section.h"

namespace mirrortrain::data {

/// features x scale + offset
struct Rescaling {
  static constexpr std::string_view kName = "rescaling";
  double scale = 1, offset = 0;
  static config::Section<Rescaling> section();
};

/// One number for all features, or one per channel (the last axis).
using PerChannel = std::variant<double, std::vector<double>>;

/// (features - mean) / sqrt(variance)
struct Normalization {
  static constexpr std::string_view kName = "normalization";
  config::Located<PerChannel> mean, variance;
  static config::Section<Normalization> section();
};

/// Converts class labels to one-hot vectors.
struct OneHot {
  static constexpr std::string_view kName = "one_hot";
  config::Located<std::int64_t> depth;
  static config::Section<OneHot> section();
};

/// The one list of preprocessing steps.
using PreprocessingStep = std::variant<Rescaling, Normalization, OneHot>;

/// All steps on features as one: y = (x - shift) * scale + offset. One entry each, or one per channel. Subtracting
/// first keeps what a mean much larger than the deviation would round away.
struct Affine {
  std::vector<double> shift{0.0}, scale{1.0}, offset{0.0};
  std::size_t channels() const { return shift.size(); }
};

/// Throws Error where two steps have different numbers of channels.
Affine fold(const std::vector<PreprocessingStep>& steps);

/// The one_hot step, or null.
const OneHot* find_one_hot(const std::vector<PreprocessingStep>& steps);

}  // namespace mirrortrain::data

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::data::PerChannel> {
  static constexpr std::string_view noun = "a number or a list with one number per channel";
};
template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::data::PreprocessingStep> {
  static constexpr std::string_view noun = "a preprocessing step";
  static constexpr auto planned =
      std::to_array<std::string_view>({"random_flip", "random_crop", "random_translation", "resizing"});
};
