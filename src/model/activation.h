#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "config/section.h"
#include "graph/graph.h"
#include "graph/ops/activation_kind.h"

namespace mirrortrain {

/// The values of the key `activation`: the elementwise ones, numbered as in ops::ActivationKind, and softmax over the
/// last axis.
enum class ActivationName : std::uint8_t {
  kLinear = static_cast<std::uint8_t>(ops::ActivationKind::kLinear),
  kSoftmax = ops::kActivationNames.size()
};

/// Adds the node, none for linear; returns the activated value.
ValueId apply_activation(Graph& graph, ActivationName activation, ValueId value);

}  // namespace mirrortrain

template <>
struct mirrortrain::config::EnumNames<mirrortrain::ActivationName> {
  static constexpr auto names = [] {
    std::array<std::pair<std::string_view, ActivationName>, ops::kActivationNames.size() + 1> all;
    for (std::size_t i = 0; i < ops::kActivationNames.size(); ++i) {
      all[i] = {ops::kActivationNames[i], static_cast<ActivationName>(i)};
    }
    all.back() = {"softmax", ActivationName::kSoftmax};
    return all;
  }();
  static constexpr auto aliases =
      std::to_array<std::pair<std::string_view, std::string_view>>({{"linear", "none, identity"},
                                                                    {"leaky_relu", "lrelu"},
                                                                    {"sigmoid", "logistic"},
                                                                    {"silu", "swish"},
                                                                    {"hard_silu", "hard_swish"}});
  static constexpr auto advice = std::to_array<Advice>(
      {{"null", "write linear"}, {"log_softmax", "leave it out, and write from_logits: true in the loss"}});
};
