#include "graph/ops/embedding.h"

#include "onnx/operators.h"

namespace mirrortrain::onnx {
namespace {

void lower_embedding(Lowering& to, const ops::Embedding& op, const mirrortrain::Node& node) {
  if (op.all_rows > 0) throw NotInOnnx("its table is a part of a larger one");
  Builder& b = to.builder();
  const std::string numbers = b.cast(to.value(node.inputs[0]), ElementType::kInt64);
  to.set(node.outputs[0], b.add("Gather", {to.value(node.inputs[1]), numbers}, {{"axis", std::int64_t{0}}}));
}

}  // namespace

void add_embedding_operators(OperatorRegistry& registry) { registry.add<ops::Embedding>(lower_embedding); }

}  // namespace mirrortrain::onnx
