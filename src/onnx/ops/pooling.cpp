#include "graph/ops/pool2d.h"
#include "onnx/operators.h"

namespace mirrortrain::onnx {
namespace {

Attributes attributes_of(const ops::Pool2dAttributes& pool, const Shape& image) {
  Ints before, after;
  for (const std::size_t axis : {0, 1}) {
    const ops::WindowAxis window =
        ops::window_axis(image[axis], pool.pool_size[axis], pool.strides[axis], 1, pool.padding);
    before.push_back(window.pad_before);
    after.push_back(window.pad_after);
  }
  before.insert(before.end(), after.begin(), after.end());
  return {{"kernel_shape", Ints(pool.pool_size.begin(), pool.pool_size.end())},
          {"pads", before},
          {"strides", Ints(pool.strides.begin(), pool.strides.end())}};
}

void lower_max_pool(Lowering& to, const ops::MaxPool2d& op, const mirrortrain::Node& node) {
  const ValueId x = node.inputs[0];
  const std::string y = to.builder().add("MaxPool", {to.channels_first(x)}, attributes_of(op, to.spec(x).shape));
  to.set_channels_first(node.outputs[0], op.relu ? to.builder().add("Relu", {y}) : y);
}

void lower_average_pool(Lowering& to, const ops::AveragePool2d& op, const mirrortrain::Node& node) {
  const ValueId x = node.inputs[0];
  to.set_channels_first(node.outputs[0],
                        to.builder().add("AveragePool", {to.channels_first(x)}, attributes_of(op, to.spec(x).shape)));
}

void lower_global(Lowering& to, const std::string& op_type, const mirrortrain::Node& node) {
  const ValueId x = node.inputs[0];
  const bool first = to.is_channels_first(x);
  const Ints axes = first ? Ints{2, 3} : Ints{1, 2};
  to.set(node.outputs[0], to.builder().add(op_type, {first ? to.channels_first(x) : to.value(x)},
                                           {{"axes", axes}, {"keepdims", std::int64_t{0}}}));
}

void lower_global_average(Lowering& to, const ops::GlobalAveragePool2d&, const mirrortrain::Node& node) {
  lower_global(to, "ReduceMean", node);
}
void lower_global_max(Lowering& to, const ops::GlobalMaxPool2d&, const mirrortrain::Node& node) {
  lower_global(to, "ReduceMax", node);
}

}  // namespace

void add_pooling_operators(OperatorRegistry& registry) {
  registry.add<ops::MaxPool2d>(lower_max_pool);
  registry.add<ops::AveragePool2d>(lower_average_pool);
  registry.add<ops::GlobalAveragePool2d>(lower_global_average);
  registry.add<ops::GlobalMaxPool2d>(lower_global_max);
}

}  // namespace mirrortrain::onnx
