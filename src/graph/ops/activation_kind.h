#pragma once

#include <cstdint>
#include <string_view>

namespace mirrortrain::ops {

/// Elementwise activations (softmax works on rows and is an op of its own).
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
  kGelu
};

std::string_view name_of(ActivationKind kind);

/// Whether the derivative can be computed from the output alone, so that the activation may be fused into the kernel
/// that makes its input (all but silu and gelu).
bool derivative_from_output(ActivationKind kind);

}  // namespace mirrortrain::ops
