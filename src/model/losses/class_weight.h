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

/// That every class counts as much as any other: an example of a class by n / (classes x examples of the class), over
/// the n training examples, as scikit-learn's "balanced".
enum class Balanced : std::uint8_t { kBalanced };

/// By class number; absent ones count 1.
using ListedWeights = config::Map<double>;

/// Of a loss of classes: how much the examples of each count in training.
struct ClassWeight {
  config::Located<std::variant<ListedWeights, Balanced>> weights;

  bool is_balanced() const { return std::holds_alternative<Balanced>(weights.value); }
  /// Whether all count alike.
  bool empty() const { return !is_balanced() && std::get<ListedWeights>(weights.value).empty(); }
  /// Adds keys that are no numbers of `classes` classes to `errors`.
  void check(std::int64_t classes, config::Errors& errors) const;
  /// Those listed, for a description that was checked; none where they are to be balanced.
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
