#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "config/section.h"
#include "graph/graph.h"
#include "graph/ops/loss.h"
#include "model/losses/loss_common.h"
#include "model/losses/targets.h"

namespace mirrortrain::losses {

/// A formula of the output, `y_pred`, and the labels, `y_true`, that gives one number for each example.
struct Formula : LossCommon {
  static constexpr std::string_view kName = "formula";
  static constexpr auto kAdvice = std::to_array<config::Advice>(
      {{"custom, lambda",
        "write {type: formula, formula: \"mean(square(y_true - y_pred))\"}, with what docs/formulas.md lists"},
       {"smape",
        "write {type: formula, formula: \"200 * mean(abs(y_true - y_pred) / maximum(abs(y_true) + abs(y_pred), "
        "1e-7))\"}"},
       {"quantile, pinball",
        "write {type: formula, formula: \"mean(maximum(0.9 * (y_true - y_pred), -0.1 * (y_true - y_pred)))\"}, for the "
        "quantile 0.9"}});
  static constexpr Targets kTargets = Targets::kNumbers;
  static constexpr bool kTakesMask = false;
  std::string formula;

  ops::Loss op() const { return ops::Loss(ops::LossKind::kOutput); }
  /// What the op reads: the formula's value, in the places of the output and of the labels. Throws Error unless it is a
  /// single number for each example.
  std::vector<ValueId> inputs(Graph& graph, ValueId output, ValueId labels) const;

  static config::Section<Formula> section();
};

}  // namespace mirrortrain::losses
