#include "model/constraint.h"

#include "model/axes.h"

namespace mirrortrain::constraints {

config::Section<MaxNorm> MaxNorm::section() {
  return config::Section<MaxNorm>("Scales weights down, after each update, whose norm is too large.")
      .key("max_value", &MaxNorm::max_value, "The largest norm.", config::at_least(0))
      .key("axis", &MaxNorm::axis,
           "The axis along which norms are taken, or a list: 0 is the inputs of a dense layer, [0, 1, 2] each filter "
           "of a 2D convolution.")
      .check("axis", [](const MaxNorm& options) { return repeated_axis(options.axes()); });
}

}  // namespace mirrortrain::constraints
