#include "model/layers/moved_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "graph/ops/arrange.h"

namespace mirrortrain::layers {

MovedAxes::MovedAxes(LayerBuilder& builder, ValueId value, const std::vector<std::size_t>& axes)
    : builder_(builder), value_(value) {
  const std::size_t rank = builder.shape(value).rank();
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (std::ranges::find(axes, axis) == axes.end()) order_.push_back(axis);
  }
  order_.insert(order_.end(), axes.begin(), axes.end());
  if (std::ranges::is_sorted(order_)) {
    order_.clear();
  } else {
    value_ = builder.apply(ops::Transpose(order_), {value});
  }
}

ValueId MovedAxes::back(ValueId moved) const {
  if (order_.empty()) return moved;
  std::vector<std::size_t> inverse(order_.size());
  for (std::size_t axis = 0; axis < order_.size(); ++axis) inverse[order_[axis]] = axis;
  return builder_.apply(ops::Transpose(inverse), {moved});
}

std::string wrong_axis(const LayerBuilder& builder, ValueId value, std::int64_t axis) {
  const std::size_t rank = builder.features(value).rank();
  const std::string known =
      rank == 1 ? "axis 1, or -1" : fmt::format("an axis from 1 to {0}, or from -{0} to -1", rank);
  return fmt::format("expected {}, of the shape {}, found {}", known, builder.described(value), axis);
}

std::size_t require_axis(const LayerBuilder& builder, ValueId value, std::int64_t axis) {
  const std::size_t rank = builder.features(value).rank();
  if (const auto of_example = axis_of_example(axis, rank)) return *of_example;
  throw Error(wrong_axis(builder, value, axis));
}

std::vector<std::size_t> require_axes(const LayerBuilder& builder, ValueId value, const Axes& axes) {
  if (const auto* const one = std::get_if<std::int64_t>(&axes)) return {require_axis(builder, value, *one)};
  std::vector<std::size_t> found;
  for (const std::int64_t one : std::get<std::vector<std::int64_t>>(axes)) {
    found.push_back(require_axis(builder, value, one));
  }
  std::ranges::sort(found);
  if (std::ranges::adjacent_find(found) != found.end()) {
    throw Error(fmt::format("expected different axes of the shape {}; two are one", builder.described(value)));
  }
  return found;
}

}  // namespace mirrortrain::layers
