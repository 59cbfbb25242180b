#pragma once

#include <fmt/format.h>

#include <string_view>

#include "base/error.h"
#include "graph/graph.h"

namespace mirrortrain::ops {

/// An absent optional input has the shape [0].
inline bool present(const ValueSpec& spec) { return spec.batched || spec.shape != Shape{0}; }

inline bool is_float(DType dtype) { return dtype == DType::kFloat32 || dtype == DType::kBfloat16; }

/// Whether it is a variable's float32 spec of this shape: without rows.
inline bool is_float32(const ValueSpec& spec, const Shape& shape) {
  return spec.dtype == DType::kFloat32 && !spec.batched && spec.shape == shape;
}

/// Whether the only output has a gradient and the first input needs one.
inline bool flows(std::span<const ValueId> output_gradients, const std::vector<bool>& wanted) {
  return wanted[0] && output_gradients[0] != kNoValue;
}

/// The gradients of all of a node's inputs, given those of the first inputs, `found`: kNoValue where none is wanted.
inline std::vector<ValueId> wanted_of(std::vector<ValueId> found, const std::vector<bool>& wanted) {
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!wanted[i]) found[i] = kNoValue;
  }
  found.resize(wanted.size(), kNoValue);
  return found;
}

/// "float32 [28, 28, 1] per row", for messages.
inline std::string text_of(const ValueSpec& spec) {
  return fmt::format("{} {}{}", name_of(spec.dtype), spec.shape.text(), spec.batched ? " per row" : "");
}

/// Throws Error unless the input fits: "add_n: expected ..., found ...".
inline void expect(bool fits, std::string_view op, std::string_view expected, const ValueSpec& found) {
  if (!fits) throw Error(fmt::format("{}: expected {}, found {}", op, expected, text_of(found)));
}

/// Throws Error unless both specs are the same.
inline void expect_same(std::string_view op, std::string_view what, const ValueSpec& expected, const ValueSpec& found) {
  expect(found == expected, op, fmt::format("{} as {}", what, text_of(expected)), found);
}

/// Throws Error unless `spec` is a batch of images.
inline void expect_images(std::string_view op, const ValueSpec& spec) {
  expect(spec.batched && spec.shape.rank() == 3 && is_float(spec.dtype), op,
         "[height, width, channels] per row, float32 or bfloat16", spec);
}

/// Checks the inputs of a loss or metric: y batched [..., k] float32, and targets batched: float32 like y (an axis of 1
/// at the end may be missing or added), or, where `class_numbers`, one int32 per position of y. Throws Error otherwise.
void expect_targets(std::string_view op, bool class_numbers, std::span<const ValueSpec> inputs);

/// Whether a loss or metric has a mask as its input `number`. Throws Error unless it masks the positions of y, or the
/// first axes of them.
bool has_mask(std::string_view op, std::span<const ValueSpec> inputs, std::size_t number);

}  // namespace mirrortrain::ops
