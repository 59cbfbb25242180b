#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace mirrortrain {

/// One axis, or several, as an option names them.
using Axes = std::variant<std::int64_t, std::vector<std::int64_t>>;

/// The axis of an example of `rank` axes that an option names: 0 is the batch, and negative numbers count from the end.
/// nullopt if there is no such axis or it is the batch.
inline std::optional<std::size_t> axis_of_example(std::int64_t axis, std::size_t rank) {
  const auto axes = static_cast<std::int64_t>(rank);
  const std::int64_t in_example = axis < 0 ? axis + axes : axis - 1;
  if (axis == 0 || in_example < 0 || in_example >= axes) return std::nullopt;
  return static_cast<std::size_t>(in_example);
}

/// The error of a list of axes in which one is repeated; empty otherwise.
inline std::string repeated_axis(std::vector<std::int64_t> axes) {
  std::ranges::sort(axes);
  const auto twice = std::ranges::adjacent_find(axes);
  return twice == axes.end() ? "" : fmt::format("the axis {} is listed twice", *twice);
}

/// The same for such an option, also where its list is empty.
inline std::string wrong_axes(const Axes& axes) {
  const auto* const several = std::get_if<std::vector<std::int64_t>>(&axes);
  if (several == nullptr) return "";
  return several->empty() ? "expected at least one axis" : repeated_axis(*several);
}

}  // namespace mirrortrain
