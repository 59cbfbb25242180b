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
       {"mape, mean_absolute_percentage_error",
        "write {type: formula, formula: \"100 * mean(abs((y_true - y_pred) / maximum(abs(y_true), 1e-7)))\"}"},
       {"smape",
        "write {type: formula, formula: \"200 * mean(abs(y_true - y_pred) / maximum(abs(y_true) + abs(y_pred), "
        "1e-7))\"}"},
       {"msle, mean_squared_logarithmic_error",
        "write {type: formula, formula: \"mean(square(log1p(maximum(y_true, 1e-7)) - log1p(maximum(y_pred, "
        "1e-7))))\"}"},
       {"squared_hinge",
        "write {type: formula, formula: \"mean(square(relu(1 - y_true * y_pred)))\"}, for labels of -1 and 1; those of "
        "0 and 1 are 2 * y_true - 1"},
       {"categorical_hinge",
        "write {type: formula, formula: \"relu(1 + max((1 - y_true) * y_pred) - sum(y_true * y_pred))\"}, for labels "
        "that data.preprocessing makes one_hot"},
       {"quantile, pinball",
        "write {type: formula, formula: \"mean(maximum(0.9 * (y_true - y_pred), -0.1 * (y_true - y_pred)))\"}, for the "
        "quantile 0.9"},
       {"categorical_focal_crossentropy",
        "write {type: formula, formula: \"-0.25 * sum(y_true * (1 - y_pred) ** 2 * log(clip(y_pred, 1e-7, 1)))\"}, for "
        "labels that data.preprocessing makes one_hot, behind a softmax"},
       {"dice",
        "write {type: formula, formula: \"1 - (2 * sum(y_true * y_pred) + 1e-7) / (sum(y_true) + sum(y_pred) + "
        "1e-7)\"}, which is that of each example"},
       {"tversky",
        "write {type: formula, formula: \"1 - (sum(y_true * y_pred) + 1e-7) / (0.5 * sum(y_true) + 0.5 * sum(y_pred) + "
        "1e-7)\"}, which is that of each example, with alpha and beta of 0.5"}});
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
