#include "onnx/operators.h"

#include <fmt/format.h>

namespace mirrortrain::onnx {

void OperatorRegistry::lower(Lowering& to, const mirrortrain::Node& node) const {
  const mirrortrain::Op& op = *node.op;
  const auto found = by_op_.find(typeid(op));
  if (found == by_op_.end()) throw NotInOnnx(fmt::format("ONNX has no operators for '{}'", op.name()));
  found->second(to, node);
}

const OperatorRegistry& operators() {
  static const OperatorRegistry all = [] {
    OperatorRegistry registry;
#define MIRRORTRAIN_ADD(name) add_##name##_operators(registry);
    MIRRORTRAIN_ONNX_OPERATORS(MIRRORTRAIN_ADD)
#undef MIRRORTRAIN_ADD
    return registry;
  }();
  return all;
}

}  // namespace mirrortrain::onnx
