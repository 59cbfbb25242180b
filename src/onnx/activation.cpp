#include "onnx/activation.h"

#include <cmath>

namespace mirrortrain::onnx {
namespace {

constexpr float kSeluAlpha = 1.67326324235437f, kSeluScale = 1.05070098735548f, kLeakySlope = 0.2f;

/// x / 2 (1 + erf(x / sqrt(2)))
std::string gelu(Builder& b, const std::string& x) {
  const std::string erf = b.add("Erf", {b.add("Mul", {x, b.number(0.70710678118655f)})});
  return b.add("Mul", {b.add("Mul", {x, b.number(0.5f)}), b.add("Add", {erf, b.number(1)})});
}

/// x sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3))
std::string gelu_tanh(Builder& b, const std::string& x) {
  const std::string square = b.add("Mul", {x, x});
  const std::string inner = b.add("Add", {b.add("Mul", {square, b.number(0.044715f)}), b.number(1)});
  const std::string scaled = b.add("Mul", {b.add("Mul", {x, inner}), b.number(1.59576912160573f)});
  return b.add("Mul", {x, b.add("Sigmoid", {scaled})});
}

std::string hard_sigmoid(Builder& b, const std::string& x) {
  return b.add("HardSigmoid", {x}, {{"alpha", 1.0f / 6}, {"beta", 0.5f}});
}

}  // namespace

std::string activated(Builder& b, ops::ActivationKind kind, const std::string& x) {
  using Kind = ops::ActivationKind;
  switch (kind) {
    case Kind::kLinear: break;
    case Kind::kRelu: return b.add("Relu", {x});
    case Kind::kLeakyRelu: return b.add("LeakyRelu", {x}, {{"alpha", kLeakySlope}});
    case Kind::kElu: return b.add("Elu", {x});
    case Kind::kSelu: return b.add("Selu", {x}, {{"alpha", kSeluAlpha}, {"gamma", kSeluScale}});
    case Kind::kSigmoid: return b.add("Sigmoid", {x});
    case Kind::kTanh: return b.add("Tanh", {x});
    case Kind::kSoftplus: return b.add("Softplus", {x});
    case Kind::kSilu: return b.add("Mul", {x, b.add("Sigmoid", {x})});
    case Kind::kGelu: return gelu(b, x);
    case Kind::kGeluTanh: return gelu_tanh(b, x);
    case Kind::kHardSigmoid: return hard_sigmoid(b, x);
    case Kind::kHardSilu: return b.add("Mul", {x, hard_sigmoid(b, x)});
    case Kind::kRelu6: return b.add("Clip", {x, b.number(0), b.number(6)});
    case Kind::kMish: return b.add("Mul", {x, b.add("Tanh", {b.add("Softplus", {x})})});
    case Kind::kSoftsign: return b.add("Softsign", {x});
    case Kind::kExponential: return b.add("Exp", {x});
  }
  return x;
}

std::string rectified(Builder& b, const ops::Rectifier& relu, const std::string& x) {
  if (!relu) return x;
  return std::isinf(relu.most) ? b.add("Relu", {x}) : b.add("Clip", {x, b.number(0), b.number(relu.most)});
}

std::optional<CellActivation> cell_activation(ops::ActivationKind kind) {
  using Kind = ops::ActivationKind;
  switch (kind) {
    case Kind::kLinear: return CellActivation{"Affine", {1}, {0}};
    case Kind::kRelu: return CellActivation{"Relu"};
    case Kind::kLeakyRelu: return CellActivation{"LeakyRelu", {kLeakySlope}};
    case Kind::kElu: return CellActivation{"Elu", {1}};
    case Kind::kSigmoid: return CellActivation{"Sigmoid"};
    case Kind::kTanh: return CellActivation{"Tanh"};
    case Kind::kSoftplus: return CellActivation{"Softplus"};
    case Kind::kHardSigmoid: return CellActivation{"HardSigmoid", {1.0f / 6}, {0.5f}};
    case Kind::kSoftsign: return CellActivation{"Softsign"};
    default: return std::nullopt;
  }
}

}  // namespace mirrortrain::onnx
