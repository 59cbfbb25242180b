#include <vector>

#include "graph/ops/upsample2d.h"
#include "kernels/scalar/upsample2d.h"
#include "onnx/operators.h"

namespace mirrortrain::onnx {
namespace {

/// [outputs, inputs]: the share of each input in each output.
std::string shares(Builder& b, const scalar::UpsampleAxis& axis) {
  std::vector<float> all;
  for (int out = 0; out < axis.output(); ++out) {
    const scalar::UpsampleAxis::Taps taps = axis.taps(out);
    for (int in = 0; in < axis.input; ++in) all.push_back(axis.of(taps, in));
  }
  return b.constant(floats({axis.output(), axis.input}, all));
}

void lower_nearest(Lowering& to, const ops::Upsample2d& op, const mirrortrain::Node& node) {
  Builder& b = to.builder();
  const std::vector<float> scales{1, 1, static_cast<float>(op.size[0]), static_cast<float>(op.size[1])};
  to.set_channels_first(
      node.outputs[0],
      b.add("Resize", {to.channels_first(node.inputs[0]), "", b.constant(floats({4}, scales))},
            {{"coordinate_transformation_mode", "asymmetric"}, {"mode", "nearest"}, {"nearest_mode", "floor"}}));
}

/// Products with the shares of lines and of columns: the same numbers with every runtime.
void lower_upsampling(Lowering& to, const ops::Upsample2d& op, const mirrortrain::Node& node) {
  if (op.interpolation == ops::Interpolation::kNearest) return lower_nearest(to, op, node);
  Builder& b = to.builder();
  const ValueId x = node.inputs[0];
  const Shape &from = to.spec(x).shape, &made = to.spec(node.outputs[0]).shape;
  const auto axis = [&](std::size_t i) {
    return scalar::UpsampleAxis{static_cast<int>(from[i]), static_cast<int>(op.size[i]), op.interpolation};
  };
  std::string y = to.value(x);
  if (op.size[0] > 1) {
    y = b.add("MatMul", {shares(b, axis(0)), b.reshape(y, {0, from[0], from[1] * from[2]})});
    y = b.reshape(y, {0, made[0], from[1], from[2]});
  }
  if (op.size[1] > 1) y = b.add("MatMul", {shares(b, axis(1)), y});
  to.set(node.outputs[0], y);
}

}  // namespace

void add_upsampling_operators(OperatorRegistry& registry) { registry.add<ops::Upsample2d>(lower_upsampling); }

}  // namespace mirrortrain::onnx
