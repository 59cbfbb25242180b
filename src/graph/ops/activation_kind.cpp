#include "graph/ops/activation_kind.h"

namespace mirrortrain::ops {

std::string_view name_of(ActivationKind kind) {
  switch (kind) {
    case ActivationKind::kLinear: return "linear";
    case ActivationKind::kRelu: return "relu";
    case ActivationKind::kLeakyRelu: return "leaky_relu";
    case ActivationKind::kElu: return "elu";
    case ActivationKind::kSelu: return "selu";
    case ActivationKind::kSigmoid: return "sigmoid";
    case ActivationKind::kTanh: return "tanh";
    case ActivationKind::kSoftplus: return "softplus";
    case ActivationKind::kSilu: return "silu";
    case ActivationKind::kGelu: break;
  }
  return "gelu";
}

bool derivative_from_output(ActivationKind kind) {
  return kind != ActivationKind::kSilu && kind != ActivationKind::kGelu;
}

}  // namespace mirrortrain::ops
