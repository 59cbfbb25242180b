#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "config/section.h"

namespace mirrortrain {

/// Constraints on weights after every update.
namespace constraints {

/// The norm along `axis` is at most `max_value`: each longer one is scaled down to it.
struct MaxNorm {
  static constexpr std::string_view kName = "max_norm";
  double max_value = 2;
  std::variant<std::int64_t, std::vector<std::int64_t>> axis = std::int64_t{0};

  static config::Section<MaxNorm> section();

  std::vector<std::int64_t> axes() const {
    if (const auto* one = std::get_if<std::int64_t>(&axis)) return {*one};
    return std::get<std::vector<std::int64_t>>(axis);
  }
};

}  // namespace constraints

using Constraint = std::variant<constraints::MaxNorm>;

}  // namespace mirrortrain

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::Constraint> {
  static constexpr std::string_view noun = "a constraint";
};
