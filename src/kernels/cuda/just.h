#pragma once

#include <typeinfo>

#include "graph/graph.h"

namespace mirrortrain::cuda {

/// The node's op if it is just of this type, and not of one that derives from it; else, or without an op, null.
template <class OpType>
const OpType* just(const Node& node) {
  const Op* const op = node.op.get();
  return op != nullptr && typeid(*op) == typeid(OpType) ? static_cast<const OpType*>(op) : nullptr;
}

}  // namespace mirrortrain::cuda
