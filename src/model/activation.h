#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "config/section.h"
#include "graph/graph.h"

namespace mirrortrain {

/// What a user may write for `activation`: the elementwise ones, and softmax over the last axis.
enum class ActivationName : std::uint8_t {
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
  kSoftmax
};

/// Adds the node, none for linear; returns the activated value.
ValueId apply_activation(Graph& graph, ActivationName activation, ValueId value);

}  // namespace mirrortrain

template <>
struct mirrortrain::config::EnumNames<mirrortrain::ActivationName> {
  using enum mirrortrain::ActivationName;
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::ActivationName>>({
      {"linear", kLinear},
      {"relu", kRelu},
      {"leaky_relu", kLeakyRelu},
      {"elu", kElu},
      {"selu", kSelu},
      {"sigmoid", kSigmoid},
      {"tanh", kTanh},
      {"softplus", kSoftplus},
      {"silu", kSilu},
      {"gelu", kGelu},
      {"softmax", kSoftmax},
  });
};
