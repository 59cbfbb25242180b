#pragma once

#include <functional>
#include <map>
#include <string>
#include <typeindex>
#include <typeinfo>

#include "graph/graph.h"
#include "onnx/lowering.h"

namespace mirrortrain::onnx {

/// The operators that each op becomes, by the op's class, as a backend has a kernel for each.
class OperatorRegistry {
 public:
  /// `lower(lowering, op, node)` adds the nodes of ONNX and sets the node's outputs, at least those that inference
  /// reads. It throws NotInOnnx where there are none.
  template <class OpType, class Lower>
  void add(const Lower& lower) {
    by_op_[typeid(OpType)] = [lower](Lowering& to, const mirrortrain::Node& node) {
      lower(to, static_cast<const OpType&>(*node.op), node);
    };
  }

  /// Throws NotInOnnx for an op of which there is none.
  void lower(Lowering& to, const mirrortrain::Node& node) const;

 private:
  std::map<std::type_index, std::function<void(Lowering&, const mirrortrain::Node&)>> by_op_;
};

/// Those of all forward ops.
const OperatorRegistry& operators();

// Each file of operators adds its own. This list declares their functions, and operators() calls them.
// clang-format off
#define MIRRORTRAIN_ONNX_OPERATORS(file) \
  file(arrange) file(attention) file(combine) file(convolution) file(dense) file(elementwise) file(embedding) file(mask) \
  file(normalization) file(pointwise) file(pooling) file(recurrent) file(upsampling)
// clang-format on

#define MIRRORTRAIN_DECLARE(name) void add_##name##_operators(OperatorRegistry& registry);
MIRRORTRAIN_ONNX_OPERATORS(MIRRORTRAIN_DECLARE)
#undef MIRRORTRAIN_DECLARE

}  // namespace mirrortrain::onnx
