#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "config/section.h"
#include "graph/graph.h"
#include "graph/ops/activation_kind.h"

namespace mirrortrain {

/// The values of the key `activation`: the elementwise ones, numbered as in ops::ActivationKind, softmax over the last
/// axis, and those of kFormulaActivations.
enum class ActivationName : std::uint8_t {
  kLinear = static_cast<std::uint8_t>(ops::ActivationKind::kLinear),
  kSoftmax = ops::kActivationNames.size(),
  kFirstFormula
};

struct FormulaActivation {
  std::string_view name, formula;  ///< of x
  bool along_last_axis = false;    ///< whether an element depends on the others along the last axis
};

/// Activations that no kernel has: keras.activations' definitions with their defaults. sparsemax is the projection onto
/// the simplex (Martins and Astudillo, 2016): its threshold is the largest (sum of the k largest - 1) / k.
inline constexpr auto kFormulaActivations = std::to_array<FormulaActivation>({
    {"celu", "maximum(x, 0) + expm1(minimum(x, 0))"},
    {"hard_shrink", "where(abs(x) > 0.5, x, 0)"},
    {"hard_tanh", "clip(x, -1, 1)"},
    {"log_sigmoid", "-softplus(-x)"},
    {"log_softmax", "x - logsumexp(x, axis=-1, keepdims=true)", true},
    {"soft_shrink", "where(x > 0.5, x - 0.5, where(x < -0.5, x + 0.5, 0))"},
    {"sparse_plus", "where(x <= -1, 0, where(x < 1, square(x + 1) / 4, x))"},
    {"sparse_sigmoid", "clip((x + 1) / 2, 0, 1)"},
    {"sparsemax",
     "relu(x - max((sum(where(x[..., None, :] >= x[..., None], x[..., None, :], 0), axis=-1) - 1)"
     " / sum(x[..., None, :] >= x[..., None], axis=-1), axis=-1, keepdims=true))",
     true},
    {"squareplus", "(x + sqrt(x * x + 4)) / 2"},
    {"tanh_shrink", "x - tanh(x)"},
});

/// nullopt unless a formula defines it.
constexpr std::optional<FormulaActivation> formula_of(ActivationName activation) {
  if (activation < ActivationName::kFirstFormula) return std::nullopt;
  return kFormulaActivations[static_cast<std::size_t>(activation) -
                             static_cast<std::size_t>(ActivationName::kFirstFormula)];
}

/// Whether an element depends on the others along the last axis, which must then exist.
constexpr bool works_along_last_axis(ActivationName activation) {
  const std::optional<FormulaActivation> formula = formula_of(activation);
  return activation == ActivationName::kSoftmax || (formula && formula->along_last_axis);
}

/// As users write it.
constexpr std::string_view name_of(ActivationName activation) {
  if (const std::optional<FormulaActivation> formula = formula_of(activation)) return formula->name;
  return activation == ActivationName::kSoftmax ? "softmax"
                                                : ops::name_of(static_cast<ops::ActivationKind>(activation));
}

/// Adds the node, none for linear; returns the activated value.
ValueId apply_activation(Graph& graph, ActivationName activation, ValueId value);

}  // namespace mirrortrain

template <>
struct mirrortrain::config::EnumNames<mirrortrain::ActivationName> {
  static constexpr auto names = [] {
    constexpr std::size_t kFormulas = static_cast<std::size_t>(mirrortrain::ActivationName::kFirstFormula);
    std::array<std::pair<std::string_view, ActivationName>, kFormulas + kFormulaActivations.size()> all;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto activation = static_cast<ActivationName>(i);
      all[i] = {mirrortrain::name_of(activation), activation};
    }
    return all;
  }();
  static constexpr auto aliases =
      std::to_array<std::pair<std::string_view, std::string_view>>({{"linear", "none, identity"},
                                                                    {"leaky_relu", "lrelu"},
                                                                    {"sigmoid", "logistic"},
                                                                    {"silu", "swish"},
                                                                    {"hard_silu", "hard_swish"},
                                                                    {"hard_shrink", "hardshrink"},
                                                                    {"hard_tanh", "hardtanh"},
                                                                    {"log_sigmoid", "logsigmoid"},
                                                                    {"soft_shrink", "softshrink"},
                                                                    {"tanh_shrink", "tanhshrink"}});
  static constexpr auto advice = std::to_array<Advice>(
      {{"null", "write linear"},
       {"glu",
        "it halves the channels, which an activation cannot; write - expression: {formula: \"x[..., :N] * "
        "sigmoid(x[..., N:])\"} with half of the channels as N"},
       {"threshold", "it is a layer; take relu: {threshold: NUMBER}"}});
};
