#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mirrortrain::ops {

/// Elementwise activations (softmax works on rows and is a separate op).
enum class ActivationKind : std::uint8_t {
  kLinear,
  kRelu,
  kLeakyRelu,
  kElu,
  kSelu,
  kSigmoid,
  kTanh,
  kSoftplus,
  kSilu,
  kGelu,
  kGeluTanh,
  kHardSigmoid,
  kHardSilu,
  kRelu6,
  kMish,
  kSoftsign,
  kExponential
};

/// As users write them, by kind.
inline constexpr auto kActivationNames = std::to_array<std::string_view>(
    {"linear", "relu", "leaky_relu", "elu", "selu", "sigmoid", "tanh", "softplus", "silu", "gelu", "gelu_tanh",
     "hard_sigmoid", "hard_silu", "relu6", "mish", "softsign", "exponential"});
static_assert(kActivationNames.size() == static_cast<std::size_t>(ActivationKind::kExponential) + 1);

constexpr std::string_view name_of(ActivationKind kind) { return kActivationNames[static_cast<std::size_t>(kind)]; }

/// Whether the derivative can be computed from the output alone, so that the activation may be fused into the kernel
/// that makes its input (all but silu, both gelus, hard_silu and mish).
bool derivative_from_output(ActivationKind kind);

}  // namespace mirrortrain::ops
