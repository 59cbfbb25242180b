#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "config/section.h"
#include "kernels/scalar/weight_bounds.h"

namespace mirrortrain {

/// Constraints on weights after every update.
namespace constraints {

/// The axis or axes along which norms are taken.
struct NormAxes {
  std::variant<std::int64_t, std::vector<std::int64_t>> axis = std::int64_t{0};

  static config::Section<NormAxes> section();

  std::vector<std::int64_t> axes() const {
    if (const auto* one = std::get_if<std::int64_t>(&axis)) return {*one};
    return std::get<std::vector<std::int64_t>>(axis);
  }
};

/// The norm along `axis` is at most `max_value`: each longer one is scaled down to it.
struct MaxNorm : NormAxes {
  static constexpr std::string_view kName = "max_norm";
  static constexpr std::string_view kAliases = "maxnorm";
  double max_value = 2;

  scalar::WeightBound bound() const { return {0, static_cast<float>(max_value)}; }

  static config::Section<MaxNorm> section();
};

/// The norm along `axis` is between two bounds, or comes closer to them.
struct MinMaxNorm : NormAxes {
  static constexpr std::string_view kName = "min_max_norm";
  double min_value = 0, max_value = 1, rate = 1;

  scalar::WeightBound bound() const {
    return {static_cast<float>(min_value), static_cast<float>(max_value), static_cast<float>(rate)};
  }

  static config::Section<MinMaxNorm> section();
};

/// Weights below 0 become 0.
struct NonNeg {
  static constexpr std::string_view kName = "non_neg";
  static constexpr std::string_view kAliases = "non_negative, nonneg, positive";

  scalar::WeightBound bound() const { return {0, 0, 1, true}; }
  std::vector<std::int64_t> axes() const { return {}; }

  static config::Section<NonNeg> section();
};

/// The norm along `axis` is 1.
struct UnitNorm : NormAxes {
  static constexpr std::string_view kName = "unit_norm";
  static constexpr std::string_view kAliases = "weight_normalization";

  scalar::WeightBound bound() const { return {1, 1}; }

  static config::Section<UnitNorm> section();
};

}  // namespace constraints

/// The list of constraints.
using Constraint =
    std::variant<constraints::MaxNorm, constraints::MinMaxNorm, constraints::NonNeg, constraints::UnitNorm>;

}  // namespace mirrortrain

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::Constraint> {
  static constexpr std::string_view noun = "a constraint";
};
