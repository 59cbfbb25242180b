#include "model/activation.h"

#include "graph/ops/elementwise.h"

namespace mirrortrain {

ValueId apply_activation(Graph& graph, ActivationName activation, ValueId value) {
  if (activation == ActivationName::kLinear) return value;
  if (activation == ActivationName::kSoftmax) return graph.apply_one(ops::Softmax{}, {value});
  return graph.apply_one(ops::Activation(static_cast<ops::ActivationKind>(activation)), {value});
}

}  // namespace mirrortrain
