#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "base/axes.h"
#include "base/shape.h"
#include "config/section.h"
#include "data/preprocessing/picture_preprocessing.h"

namespace mirrortrain::data {

/// One number for all features, or a list of them.
using PerChannel = std::variant<double, std::vector<double>>;

/// (features - mean) / sqrt(variance), or with `invert` features sqrt(variance) + mean.
struct Normalization : OfInput {
  static constexpr std::string_view kName = "normalization";
  static constexpr std::string_view kAliases = "normalize";
  bool adapt = false;                                         ///< to the training data; see data/loading/adapt.h
  config::Located<std::optional<PerChannel>> mean, variance;  ///< null if adapted
  /// Each position along them has statistics of its own; null: all numbers share theirs.
  config::Located<std::optional<Axes>> axis{std::int64_t{-1}, {}, {}};
  bool invert = false;
  static config::Section<Normalization> section();
};

/// Which statistics each of an example's numbers has, in the order in which the example has them: number i those with
/// of[i % of.size()].
struct SharedStatistics {
  std::vector<std::size_t> of{0};
  std::size_t count = 1;  ///< of different ones
  std::size_t last = 1;   ///< extent of the last of the axes
};

/// For examples of the shape where the transform acts. `wanted`: the shape that the model has for the input, whose axes
/// are meant wherever examples have as many numbers; pictures without an axis of channels have one. Throws KeyError if
/// there is no such axis.
SharedStatistics shared_statistics(const Normalization& step, const Shape& example, const Shape& wanted);

/// The transform with mean and variance as one number, or as many as `of` has: not to be spread again. Throws KeyError if
/// they are neither one number, nor one for each of the statistics, nor one for each position along the last of the axes.
Normalization spread(Normalization step, const SharedStatistics& statistics);

}  // namespace mirrortrain::data

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::data::PerChannel> {
  static constexpr std::string_view noun = "a number or a list of numbers";
};
