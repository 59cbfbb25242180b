#include "model/activation.h"

#include "base/error.h"
#include "graph/ops/elementwise.h"

namespace mirrortrain {
namespace {

ops::ActivationKind elementwise_kind(ActivationName activation) {
  using ops::ActivationKind;
  switch (activation) {
    case ActivationName::kLinear: return ActivationKind::kLinear;
    case ActivationName::kRelu: return ActivationKind::kRelu;
    case ActivationName::kLeakyRelu: return ActivationKind::kLeakyRelu;
    case ActivationName::kElu: return ActivationKind::kElu;
    case ActivationName::kSelu: return ActivationKind::kSelu;
    case ActivationName::kSigmoid: return ActivationKind::kSigmoid;
    case ActivationName::kTanh: return ActivationKind::kTanh;
    case ActivationName::kSoftplus: return ActivationKind::kSoftplus;
    case ActivationName::kSilu: return ActivationKind::kSilu;
    case ActivationName::kGelu: return ActivationKind::kGelu;
    case ActivationName::kSoftmax: break;
  }
  throw Error("softmax is not elementwise");
}

}  // namespace

ValueId apply_activation(Graph& graph, ActivationName activation, ValueId value) {
  if (activation == ActivationName::kLinear) return value;
  if (activation == ActivationName::kSoftmax) return graph.apply_one(ops::Softmax{}, {value});
  return graph.apply_one(ops::Activation(elementwise_kind(activation)), {value});
}

}  // namespace mirrortrain
