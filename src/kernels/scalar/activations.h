#pragma once

#include "graph/ops/activation_kind.h"
#include "kernels/scalar/math.h"

// One struct per elementwise activation: forward(x), and backward(from, dy) = dy times the derivative, computed from
// the output if ops::derivative_from_output, else from the input.
namespace mirrortrain::scalar {

struct Linear {
  MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE static float forward(float x) { return x; }
  MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE static float backward(float, float dy) { return dy; }
};

struct Relu {
  // Written so that NaN propagates.
  MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE static float forward(float x) { return x < 0.0f ? 0.0f : x; }
  MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE static float backward(float y, float dy) {
    return y > 0.0f ? dy : 0.0f;
  }
};

struct LeakyRelu {
  static constexpr float kSlope = 0.2f;
  MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE static float forward(float x) { return x < 0.0f ? kSlope * x : x; }
  MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE static float backward(float y, float dy) {
    return y > 0.0f ? dy : kSlope * dy;
  }
};

struct Elu {
  MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE static float forward(float x) {
    return x > 0.0f ? x : expm1_negative(x);
  }
  MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE static float backward(float y, float dy) {
    return y > 0.0f ? dy : dy * (y + 1.0f);
  }
};

/// Klambauer, Unterthiner, Mayr, Hochreiter: "Self-normalizing neural networks", 2017.
struct Selu {
  static constexpr float kScale = 1.05070098735548f, kScaleAlpha = 1.05070098735548 * 1.67326324235437;
  MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE static float forward(float x) {
    return x > 0.0f ? kScale * x : kScaleAlpha * expm1_negative(x);
  }
  MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE static float backward(float y, float dy) {
    return dy * (y > 0.0f ? kScale : y + kScaleAlpha);
  }
};

struct Sigmoid {
  MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE static float forward(float x) { return sigmoid(x); }
  MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE static float backward(float y, float dy) {
    return dy * (y * (1.0f - y));
  }
};

struct Tanh {
  MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE static float forward(float x) { return scalar::tanh(x); }
  MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE static float backward(float y, float dy) {
    return dy * (1.0f - y * y);
  }
};

struct Softplus {
  MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE static float forward(float x) { return softplus(x); }
  // The derivative is sigmoid(x) = 1 - e^-y.
  MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE static float backward(float y, float dy) {
    return -dy * expm1_negative(-y);
  }
};

struct Silu {
  MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE static float forward(float x) { return x * sigmoid(x); }
  MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE static float backward(float x, float dy) {
    const float s = sigmoid(x);
    return dy * (s * (1.0f + x * (1.0f - s)));
  }
};

/// The exact one: x times the normal distribution's probability of a value below x.
struct Gelu {
  MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE static float forward(float x) { return x * normal(x).below; }
  MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE static float backward(float x, float dy) {
    const auto [density, below] = normal(x);
    return dy * (below + x * density);
  }
};

/// Its approximation x / 2 (1 + tanh(u)) with u = sqrt(2 / pi) (x + 0.044715 x^3), Keras's gelu(approximate=True) and
/// GPT-2's gelu_new. As (1 + tanh(u)) / 2 = sigmoid(2 u), the tail on the left keeps its digits.
struct GeluTanh {
  MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE static float forward(float x) { return x * below(x); }
  MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE static float backward(float x, float dy) {
    const float s = below(x);
    return dy * (s + x * s * (1.0f - s) * kTwice * (1.0f + 3.0f * kCubic * x * x));
  }

 private:
  static constexpr float kTwice = 1.59576912160573f, kCubic = 0.044715f;  // 2 sqrt(2 / pi)
  MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE static float below(float x) {
    return sigmoid(kTwice * (x + kCubic * x * x * x));
  }
};

/// relu6(x + 3) / 6
struct HardSigmoid {
  MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE static float forward(float x) {
    const float raised = x + 3.0f < 0.0f ? 0.0f : x + 3.0f;
    return (raised > 6.0f ? 6.0f : raised) * (1.0f / 6.0f);
  }
  MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE static float backward(float y, float dy) {
    return y > 0.0f && y < 1.0f ? dy * (1.0f / 6.0f) : 0.0f;
  }
};

/// x hard_sigmoid(x)
struct HardSilu {
  MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE static float forward(float x) {
    return x * HardSigmoid::forward(x);
  }
  MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE static float backward(float x, float dy) {
    const float s = HardSigmoid::forward(x);
    return dy * s + x * HardSigmoid::backward(s, dy);
  }
};

struct Relu6 {
  MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE static float forward(float x) {
    const float raised = x < 0.0f ? 0.0f : x;
    return raised > 6.0f ? 6.0f : raised;
  }
  MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE static float backward(float y, float dy) {
    return y > 0.0f && y < 6.0f ? dy : 0.0f;
  }
};

/// x tanh(softplus(x))
struct Mish {
  MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE static float forward(float x) {
    const float n = excess(x);
    return x * (n / (n + 2.0f));
  }
  MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE static float backward(float x, float dy) {
    const float n = excess(x), t = n / (n + 2.0f), rest = 2.0f / (n + 2.0f);
    return dy * (t + x * rest * (1.0f + t) * sigmoid(x));
  }

 private:
  /// n with tanh(softplus(x)) = n / (n + 2); beyond 20 the quotient is 1.
  MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE static float excess(float x) {
    const float e = scalar::exp(x > 20.0f ? 20.0f : x);
    return e * (e + 2.0f);
  }
};

/// x / (1 + |x|)
struct Softsign {
  MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE static float forward(float x) { return x / (1.0f + std::fabs(x)); }
  MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE static float backward(float y, float dy) {
    const float rest = 1.0f - std::fabs(y);
    return dy * (rest * rest);
  }
};

struct Exponential {
  MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE static float forward(float x) { return scalar::exp(x); }
  MIRRORTRAIN_HOST_DEVICE MIRRORTRAIN_ALWAYS_INLINE static float backward(float y, float dy) { return dy * y; }
};

/// Calls function(functor) with the struct of `kind`.
#if defined(__CUDACC__)
#pragma nv_exec_check_disable  // on the device it is called with functions of the device, on the host of the host
#endif
template <class Function>
MIRRORTRAIN_HOST_DEVICE auto with_activation(ops::ActivationKind kind, const Function& function) {
  switch (kind) {
    case ops::ActivationKind::kLinear: break;
    case ops::ActivationKind::kRelu: return function(Relu{});
    case ops::ActivationKind::kLeakyRelu: return function(LeakyRelu{});
    case ops::ActivationKind::kElu: return function(Elu{});
    case ops::ActivationKind::kSelu: return function(Selu{});
    case ops::ActivationKind::kSigmoid: return function(Sigmoid{});
    case ops::ActivationKind::kTanh: return function(Tanh{});
    case ops::ActivationKind::kSoftplus: return function(Softplus{});
    case ops::ActivationKind::kSilu: return function(Silu{});
    case ops::ActivationKind::kGelu: return function(Gelu{});
    case ops::ActivationKind::kGeluTanh: return function(GeluTanh{});
    case ops::ActivationKind::kHardSigmoid: return function(HardSigmoid{});
    case ops::ActivationKind::kHardSilu: return function(HardSilu{});
    case ops::ActivationKind::kRelu6: return function(Relu6{});
    case ops::ActivationKind::kMish: return function(Mish{});
    case ops::ActivationKind::kSoftsign: return function(Softsign{});
    case ops::ActivationKind::kExponential: return function(Exponential{});
  }
  return function(Linear{});
}

}  // namespace mirrortrain::scalar
