#include "graph/ops/dense.h"

#include <numeric>

#include "graph/ops/matmul.h"
#include "onnx/activation.h"
#include "onnx/operators.h"

namespace mirrortrain::onnx {
namespace {

void lower_dense(Lowering& to, const ops::Dense& op, const mirrortrain::Node& node) {
  Builder& b = to.builder();
  std::string y = b.add("MatMul", {to.value(node.inputs[0]), to.value(node.inputs[1])});
  if (node.inputs.size() > 2 && node.inputs[2] != kNoValue) y = b.add("Add", {y, to.value(node.inputs[2])});
  to.set(node.outputs[0], activated(b, op.activation, y));
}

/// Of a layer that multiplies by another one's transposed weight.
void lower_transposed_dense(Lowering& to, const ops::DenseInputGradient&, const mirrortrain::Node& node) {
  Builder& b = to.builder();
  to.set(node.outputs[0], b.add("MatMul", {to.value(node.inputs[0]), b.transpose(to.value(node.inputs[1]), {1, 0})}));
}

std::string matrices(Lowering& to, ValueId id, bool transposed) {
  if (!transposed) return to.value(id);
  Ints order(to.spec(id).shape.rank() + (to.spec(id).batched ? 1 : 0));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return to.builder().transpose(to.value(id), order);
}

void lower_matmul(Lowering& to, const ops::MatMul& op, const mirrortrain::Node& node) {
  const std::string a = matrices(to, node.inputs[0], op.transpose_a), b = matrices(to, node.inputs[1], op.transpose_b);
  to.set(node.outputs[0], to.builder().add("MatMul", {a, b}));
}

}  // namespace

void add_dense_operators(OperatorRegistry& registry) {
  registry.add<ops::Dense>(lower_dense);
  registry.add<ops::DenseInputGradient>(lower_transposed_dense);
  registry.add<ops::MatMul>(lower_matmul);
}

}  // namespace mirrortrain::onnx
