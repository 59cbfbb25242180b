#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/map.h"
#include "model/layer_builder.h"
#include "model/layer_common.h"

namespace mirrortrain::layers {

/// A weight that a formula names; without rows.
struct FormulaParameter {
  std::vector<std::int64_t> shape;
  Initializer initializer = initializers::Zeros{};
  std::optional<Regularizer> regularizer;
  std::optional<Constraint> constraint;

  static config::Section<FormulaParameter> section();
};

/// A formula of its inputs, named x0, x1, ... (x is x0), and of its parameters, whose variables have their names.
/// Shapes are those of an example (model/formula/formula_graph.h).
struct Expression : LayerCommon {
  static constexpr std::string_view kName = "expression";
  static constexpr auto kAdvice = std::to_array<config::Advice>(
      {{"lambda", "write - expression: {formula: \"x * sigmoid(x)\"}, with what docs/formulas.md lists"},
       {"abs, exp, log, sqrt, square, sum, mean, power, clip, reduce_mean, reduce_sum",
        "write - expression: {formula: \"mean(square(x), axis=-1)\"}, with what docs/formulas.md lists"},
       {"slice", "write - expression: {formula: \"x[1:-1, 1:-1]\"}, with the range of each axis"}});
  static constexpr std::size_t kMostInputs = SIZE_MAX;
  static constexpr bool kOptionsSetRank = true;
  static constexpr Masking kMasking = Masking::kOwn;  // it ends
  std::string formula;
  config::Map<FormulaParameter> parameters;

  static config::Section<Expression> section();
  /// Whether the formula is `x`, which is written to end a mask.
  bool is_input() const;
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

}  // namespace mirrortrain::layers
