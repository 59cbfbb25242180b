#include "graph/ops/pool2d.h"

#include "graph/ops/checks.h"

namespace mirrortrain::ops {
namespace {

/// The output's shape per row. Throws Error if a window does not fit.
Shape pooled_shape(std::string_view op, const Pool2dAttributes& pool, const Shape& image) {
  Shape output = image;
  for (const std::size_t axis : {0, 1}) {
    output[axis] = window_axis(image[axis], pool.pool_size[axis], pool.strides[axis], 1, pool.padding).output;
    if (output[axis] < 1) {
      throw Error(
          fmt::format("{}: a window of {} x {} does not fit into images of {} without padding; take a smaller "
                      "pool_size, or padding: same",
                      op, pool.pool_size[0], pool.pool_size[1], image.text()));
    }
  }
  return output;
}

/// Checks the gradient of the output against the shape of the input.
void expect_gradient(std::string_view op, const ValueSpec& gradient, const Shape& expected) {
  expect(gradient.batched && is_float(gradient.dtype) && gradient.shape == expected, op,
         fmt::format("the output's gradient as {} per row", expected.text()), gradient);
}

}  // namespace

std::vector<ValueSpec> MaxPool2d::infer(std::span<const ValueSpec> inputs) const {
  expect_images(name(), inputs[0]);
  const Shape output = pooled_shape(name(), *this, inputs[0].shape);
  if (pool_size[0] * pool_size[1] > 256) {
    throw Error(
        fmt::format("max_pool2d: expected a window of at most 256 elements, found {} x {}; pool in two layers, or "
                    "everything with global_max_pooling2d",
                    pool_size[0], pool_size[1]));
  }
  return {{inputs[0].dtype, output, true}, {DType::kUint8, output, true}};
}

std::vector<ValueId> MaxPool2d::gradient(Graph& graph, const Node& node, std::span<const ValueId> output_gradients,
                                         const std::vector<bool>& wanted) const {
  if (!flows(output_gradients, wanted)) return {kNoValue};
  std::vector<ValueId> inputs{output_gradients[0], node.outputs[1]};
  if (relu) inputs.push_back(node.outputs[0]);
  return {graph.apply_one(MaxPool2dGradient(*this, graph.spec(node.inputs[0]).shape, relu), std::move(inputs))};
}

std::vector<ValueSpec> MaxPool2dGradient::infer(std::span<const ValueSpec> inputs) const {
  const Shape output = pooled_shape(name(), *this, input_shape);
  expect_gradient(name(), inputs[0], output);
  expect_same(name(), "the positions", {DType::kUint8, output, true}, inputs[1]);
  if (relu) expect_same(name(), "the output", inputs[0], inputs[2]);
  return {{inputs[0].dtype, input_shape, true}};
}

std::vector<ValueSpec> AveragePool2d::infer(std::span<const ValueSpec> inputs) const {
  expect_images(name(), inputs[0]);
  return {{inputs[0].dtype, pooled_shape(name(), *this, inputs[0].shape), true}};
}

std::vector<ValueId> AveragePool2d::gradient(Graph& graph, const Node& node, std::span<const ValueId> output_gradients,
                                             const std::vector<bool>& wanted) const {
  if (!flows(output_gradients, wanted)) return {kNoValue};
  return {graph.apply_one(AveragePool2dGradient(*this, graph.spec(node.inputs[0]).shape), {output_gradients[0]})};
}

std::vector<ValueSpec> AveragePool2dGradient::infer(std::span<const ValueSpec> inputs) const {
  expect_gradient(name(), inputs[0], pooled_shape(name(), *this, input_shape));
  return {{inputs[0].dtype, input_shape, true}};
}

std::vector<ValueSpec> GlobalAveragePool2d::infer(std::span<const ValueSpec> inputs) const {
  expect_images(name(), inputs[0]);
  return {{inputs[0].dtype, {inputs[0].shape.back()}, true}};
}

std::vector<ValueId> GlobalAveragePool2d::gradient(Graph& graph, const Node& node,
                                                   std::span<const ValueId> output_gradients,
                                                   const std::vector<bool>& wanted) const {
  if (!flows(output_gradients, wanted)) return {kNoValue};
  return {graph.apply_one(GlobalAveragePool2dGradient(graph.spec(node.inputs[0]).shape), {output_gradients[0]})};
}

std::vector<ValueSpec> GlobalAveragePool2dGradient::infer(std::span<const ValueSpec> inputs) const {
  expect_gradient(name(), inputs[0], {input_shape.back()});
  return {{inputs[0].dtype, input_shape, true}};
}

std::vector<ValueSpec> GlobalMaxPool2d::infer(std::span<const ValueSpec> inputs) const {
  expect_images(name(), inputs[0]);
  return {{inputs[0].dtype, {inputs[0].shape.back()}, true}};
}

std::vector<ValueId> GlobalMaxPool2d::gradient(Graph& graph, const Node& node,
                                               std::span<const ValueId> output_gradients,
                                               const std::vector<bool>& wanted) const {
  if (!flows(output_gradients, wanted)) return {kNoValue};
  return {graph.apply_one(GlobalMaxPool2dGradient(), {output_gradients[0], node.inputs[0], node.outputs[0]})};
}

std::vector<ValueSpec> GlobalMaxPool2dGradient::infer(std::span<const ValueSpec> inputs) const {
  expect_images(name(), inputs[1]);
  expect_gradient(name(), inputs[0], {inputs[1].shape.back()});
  expect_same(name(), "the output", inputs[0], inputs[2]);
  return {inputs[1]};
}

}  // namespace mirrortrain::ops
