#include "model/constraint.h"

#include <fmt/format.h>

#include <string>

#include "base/axes.h"

namespace mirrortrain::constraints {

config::Section<NormAxes> NormAxes::section() {
  return config::Section<NormAxes>("The axes of norms.")
      .key("axis", &NormAxes::axis,
           "The axis along which norms are taken, or a list: 0 is the inputs of a dense layer, [0, 1, 2] each filter "
           "of a 2D convolution.")
      .check("axis", [](const NormAxes& options) { return repeated_axis(options.axes()); });
}

config::Section<MaxNorm> MaxNorm::section() {
  return config::Section<MaxNorm>("Scales weights down, after each update, whose norm is too large.")
      .key("max_value", &MaxNorm::max_value, "The largest norm.", config::at_least(0))
      .include<NormAxes>();
}

config::Section<MinMaxNorm> MinMaxNorm::section() {
  return config::Section<MinMaxNorm>("Scales weights, after each update, whose norm is too large or too small.")
      .key("min_value", &MinMaxNorm::min_value, "The smallest norm.", config::at_least(0))
      .key("max_value", &MinMaxNorm::max_value, "The largest norm.", config::at_least(0))
      .key("rate", &MinMaxNorm::rate,
           "How far a norm goes to its bound in one update: 1 the whole way, 0.5 half of it, 0 nowhere.",
           config::between(0, 1))
      .include<NormAxes>()
      .check("max_value", [](const MinMaxNorm& options) {
        return options.min_value <= options.max_value
                   ? std::string()
                   : fmt::format("expected a number of at least min_value, {:g}", options.min_value);
      });
}

config::Section<NonNeg> NonNeg::section() {
  return config::Section<NonNeg>("Sets weights below 0 to 0 after each update.");
}

config::Section<UnitNorm> UnitNorm::section() {
  return config::Section<UnitNorm>("Scales weights to the norm 1 after each update.").include<NormAxes>();
}

}  // namespace mirrortrain::constraints
