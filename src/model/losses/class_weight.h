#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <variant>

#include "config/map.h"
#include "config/section.h"

namespace mirrortrain::losses {

/// Equal total weight for every class: an example has weight n / (classes x examples of its class) for n training
/// examples, as in scikit-learn's "balanced".
enum class Balanced : std::uint8_t { kBalanced };

/// By class number; the default is 1.
using ListedWeights = config::Map<double>;

/// Weights of each class's examples in training, for losses of classes.
struct ClassWeight {
  config::Located<std::variant<ListedWeights, Balanced>> weights;

  bool is_balanced() const { return std::holds_alternative<Balanced>(weights.value); }
  /// Whether all weights are equal.
  bool empty() const { return !is_balanced() && std::get<ListedWeights>(weights.value).empty(); }
  /// Adds keys that are not class numbers of `classes` classes to `errors`.
  void check(std::int64_t classes, config::Errors& errors) const;
  /// The listed weights, for a checked description; none if they are to be balanced.
  std::map<std::int64_t, float> by_class() const;

  static config::Section<ClassWeight> section();
};

}  // namespace mirrortrain::losses

template <>
struct mirrortrain::config::EnumNames<mirrortrain::losses::Balanced> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::losses::Balanced>>(
      {{"balanced", mirrortrain::losses::Balanced::kBalanced}});
};
template <>
struct mirrortrain::config::ChoiceTag<std::variant<mirrortrain::losses::ListedWeights, mirrortrain::losses::Balanced>> {
  static constexpr std::string_view noun = "a mapping from class numbers to weights, or balanced";
};
