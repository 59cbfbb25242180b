#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/axes.h"
#include "model/layer_builder.h"

namespace mirrortrain::layers {

/// A value with some axes of each example moved behind the others, for layers that work along the last axis.
class MovedAxes {
 public:
  /// `axes` in the order that they get behind the others.
  MovedAxes(LayerBuilder& builder, ValueId value, const std::vector<std::size_t>& axes);

  ValueId value() const { return value_; }
  /// A value of the same shape as value(), with the axes where they were.
  ValueId back(ValueId moved) const;

 private:
  LayerBuilder& builder_;
  ValueId value_;
  std::vector<std::size_t> order_;  ///< empty: they were the last
};

/// That an option names no axis of an example, and which there are.
std::string wrong_axis(const LayerBuilder& builder, ValueId value, std::int64_t axis);

/// The axis of an example that an option names, as in axes.h. Throws Error, with the shape, where there is none.
std::size_t require_axis(const LayerBuilder& builder, ValueId value, std::int64_t axis);
/// Those of several, in the order in which the example has them. Throws Error where two are the same one.
std::vector<std::size_t> require_axes(const LayerBuilder& builder, ValueId value, const Axes& axes);

}  // namespace mirrortrain::layers
