#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace mirrortrain {

/// What is wrong with a list of axes where one is there twice; else empty.
inline std::string repeated_axis(std::vector<std::int64_t> axes) {
  std::ranges::sort(axes);
  const auto twice = std::ranges::adjacent_find(axes);
  return twice == axes.end() ? "" : fmt::format("the axis {} is listed twice", *twice);
}

}  // namespace mirrortrain
