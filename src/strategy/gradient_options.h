#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "config/section.h"
#include "graph/aggregation_method.h"

namespace mirrortrain {

/// The section `gradients`: how gradients are processed before the optimizer applies them.
struct GradientOptions {
  AggregationMethod aggregation_method = AggregationMethod::kAddN;
  std::optional<double> clip_norm;
  std::optional<float> clip_value;
  std::int64_t accumulate_steps = 1;
  static config::Section<GradientOptions> section();

  /// Whether gradients are stored before they are applied: over several steps, or until their norm is known.
  bool are_kept() const { return accumulate_steps > 1 || clip_norm.has_value(); }
};

}  // namespace mirrortrain

template <>
struct mirrortrain::config::EnumNames<mirrortrain::AggregationMethod> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, AggregationMethod>>({
      {"add_n", AggregationMethod::kAddN},
      {"tree", AggregationMethod::kTree},
      {"accumulate_n", AggregationMethod::kAccumulateN},
      {"experimental_tree", AggregationMethod::kTree},
      {"experimental_accumulate_n", AggregationMethod::kAccumulateN},
  });
};
