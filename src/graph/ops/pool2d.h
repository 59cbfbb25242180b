#pragma once

#include <array>

#include "graph/graph.h"
#include "graph/ops/window.h"

namespace mirrortrain::ops {

struct Pool2dAttributes {
  std::array<std::int64_t, 2> pool_size{2, 2};
  std::array<std::int64_t, 2> strides{2, 2};
  Padding padding = Padding::kValid;
};

/// The maximum of each window, channels last; with `relu` max(0, maximum), which fuses a preceding relu.
/// Input: batched [height, width, channels] float32 or bfloat16.
/// Outputs: batched [height', width', channels] in x's dtype; the position of the maximum in its window (row times pool
/// width plus column; the first of equals), batched, uint8 (null in evaluation). Windows of more than 256 are refused.
struct MaxPool2d : Op, Pool2dAttributes {
  bool relu = false;
  explicit MaxPool2d(const Pool2dAttributes& attributes, bool with_relu = false)
      : Pool2dAttributes(attributes), relu(with_relu) {}
  std::string_view name() const override { return "max_pool2d"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

/// Inputs: gradient of the output; positions; with `relu` also the output (gradient passes where it is positive).
/// Output: gradient of x, batched `input_shape`.
struct MaxPool2dGradient : Op, Pool2dAttributes {
  Shape input_shape;
  bool relu = false;
  MaxPool2dGradient(const Pool2dAttributes& attributes, Shape input, bool with_relu)
      : Pool2dAttributes(attributes), input_shape(std::move(input)), relu(with_relu) {}
  std::string_view name() const override { return "max_pool2d_gradient"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

/// The mean of each window over the elements inside the image (padding does not count), channels last.
struct AveragePool2d : Op, Pool2dAttributes {
  explicit AveragePool2d(const Pool2dAttributes& attributes) : Pool2dAttributes(attributes) {}
  std::string_view name() const override { return "average_pool2d"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

/// Input: gradient of the output. Output: gradient of x, batched `input_shape`.
struct AveragePool2dGradient : Op, Pool2dAttributes {
  Shape input_shape;
  AveragePool2dGradient(const Pool2dAttributes& attributes, Shape input)
      : Pool2dAttributes(attributes), input_shape(std::move(input)) {}
  std::string_view name() const override { return "average_pool2d_gradient"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

/// The mean over height and width: batched [height, width, channels] -> batched [channels].
struct GlobalAveragePool2d : Op {
  std::string_view name() const override { return "global_average_pool2d"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

/// Input: gradient of the output, batched [channels]. Output: gradient of x, batched `input_shape`.
struct GlobalAveragePool2dGradient : Op {
  Shape input_shape;
  explicit GlobalAveragePool2dGradient(Shape input) : input_shape(std::move(input)) {}
  std::string_view name() const override { return "global_average_pool2d_gradient"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

/// The maximum over height and width: batched [height, width, channels] -> batched [channels].
struct GlobalMaxPool2d : Op {
  std::string_view name() const override { return "global_max_pool2d"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

/// Inputs: gradient of the output; x; the output. Output: gradient of x, shared evenly by equal maxima, as in Keras.
struct GlobalMaxPool2dGradient : Op {
  std::string_view name() const override { return "global_max_pool2d_gradient"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

}  // namespace mirrortrain::ops
