#include "model/constraint.h"

#include <fmt/format.h>

#include <algorithm>

namespace mirrortrain::constraints {

config::Section<MaxNorm> MaxNorm::section() {
  return config::Section<MaxNorm>("Scales weights down, after each update, whose norm is too large.")
      .key("max_value", &MaxNorm::max_value, "The largest norm.", config::at_least(0))
      .key("axis", &MaxNorm::axis,
           "The axis along which norms are taken, or a list: 0 is the inputs of a dense layer, [0, 1, 2] each filter "
           "of a 2D convolution.")
      .check("axis", [](const MaxNorm& options) -> std::string {
        std::vector<std::int64_t> axes = options.axes();
        std::ranges::sort(axes);
        const auto twice = std::ranges::adjacent_find(axes);
        return twice == axes.end() ? "" : fmt::format("the axis {} is listed twice", *twice);
      });
}

}  // namespace mirrortrain::constraints
