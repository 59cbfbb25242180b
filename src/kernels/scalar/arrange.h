#pragma once

#include <numeric>
#include <span>
#include <type_traits>
#include <vector>

#include "base/tensor_view.h"
#include "graph/ops/arrange.h"
#include "kernels/scalar/walk.h"

// The element mapping of padding, cropping, flipping, concatenating and transposing.
namespace mirrortrain::scalar {

/// The position of each element in the source and in the destination tensor.
struct CopyWalk {
  Walk<2> walk;
  std::int64_t from_first, to_first;
};

/// A tensor with rows in front: one of `axes` axes has none, and is one row.
inline Shape in_rows(const Shape& shape, std::size_t axes) { return shape.rank() == axes ? shape.with_rows(1) : shape; }

/// The part of `whole` from `first` on that has the shape `part`; all with rows.
inline std::int64_t first_element(const Shape& whole, const std::vector<std::int64_t>& first) {
  const Strides strides = dense_strides(whole);
  return std::inner_product(first.begin(), first.end(), strides.begin() + 1, std::int64_t{0});
}

/// A tensor `x` within the larger `y`, from `first` of each row on.
inline CopyWalk copy_into(const Shape& x, const Shape& y, const std::vector<std::int64_t>& first) {
  return {Walk<2>(x, {dense_strides(x), dense_strides(y)}), 0, first_element(y, first)};
}

inline CopyWalk copy_out_of(const Shape& x, const Shape& y, const std::vector<std::int64_t>& first) {
  return {Walk<2>(y, {dense_strides(x), dense_strides(y)}), first_element(x, first), 0};
}

inline CopyWalk copy_transposed(const Shape& x, const Shape& y, const std::vector<std::size_t>& axes) {
  const Strides of_x = dense_strides(x);
  Strides from{of_x[0]};
  for (const std::size_t axis : axes) from.push_back(of_x[axis + 1]);
  return {Walk<2>(y, {from, dense_strides(y)}), 0, 0};
}

inline CopyWalk copy_flipped(const Shape& x, std::size_t axis) {
  Strides from = dense_strides(x);
  const std::int64_t last = (x[axis + 1] - 1) * from[axis + 1];
  from[axis + 1] = -from[axis + 1];
  return {Walk<2>(x, {from, dense_strides(x)}), last, 0};
}

/// The mapping of each input of an op into its output `y`. Pad leaves gaps, which are zeros.
using Tensors = std::span<const TensorView>;
inline std::vector<CopyWalk> copies_of(const ops::Pad& op, Tensors inputs, const Shape& y) {
  const std::size_t axes = op.before.size();
  return {copy_into(in_rows(inputs[0].shape, axes), in_rows(y, axes), op.before)};
}
inline std::vector<CopyWalk> copies_of(const ops::Crop& op, Tensors inputs, const Shape& y) {
  const std::size_t axes = op.before.size();
  return {copy_out_of(in_rows(inputs[0].shape, axes), in_rows(y, axes), op.before)};
}
inline std::vector<CopyWalk> copies_of(const ops::Transpose& op, Tensors inputs, const Shape& y) {
  return {copy_transposed(inputs[0].shape, y, op.axes)};
}
inline std::vector<CopyWalk> copies_of(const ops::Flip& op, Tensors inputs, const Shape&) {
  return {copy_flipped(inputs[0].shape, op.axis)};
}
inline std::vector<CopyWalk> copies_of(const ops::Concatenate& op, Tensors inputs, const Shape& y) {
  std::vector<CopyWalk> copies;
  std::vector<std::int64_t> first(y.rank() - 1, 0);
  for (const TensorView& input : inputs) {
    copies.push_back(copy_into(input.shape, y, first));
    first[op.axis] += input.shape[op.axis + 1];
  }
  return copies;
}

template <class ArrangeOp>
inline constexpr bool kLeavesGaps = std::is_same_v<ArrangeOp, ops::Pad>;

}  // namespace mirrortrain::scalar
