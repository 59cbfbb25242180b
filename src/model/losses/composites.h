#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/section.h"
#include "graph/graph.h"
#include "graph/ops/loss.h"
#include "model/losses/crossentropy.h"
#include "model/losses/loss_common.h"
#include "model/losses/targets.h"

// Losses without a kernel: `terms()` is a formula (docs/formulas.md) of the output, y_pred, and the labels, y_true. The
// loss of a position is the mean of its terms over the last axis, so that padding can be left out.
namespace mirrortrain::losses {

struct Composite : LossCommon {
  ops::Loss op() const { return ops::Loss(ops::LossKind::kOutput); }
};

struct MeanAbsolutePercentageError : Composite {
  static constexpr std::string_view kName = "mean_absolute_percentage_error";
  static constexpr std::string_view kAliases = "mape";
  static constexpr Targets kTargets = Targets::kNumbers;

  std::string terms() const { return "100 * abs((y_true - y_pred) / maximum(abs(y_true), 1e-7))"; }

  static config::Section<MeanAbsolutePercentageError> section();
};

struct MeanSquaredLogarithmicError : Composite {
  static constexpr std::string_view kName = "mean_squared_logarithmic_error";
  static constexpr std::string_view kAliases = "msle, mean_squared_log_error";
  static constexpr Targets kTargets = Targets::kNumbers;

  std::string terms() const { return "square(log(maximum(y_pred, 1e-7) + 1) - log(maximum(y_true, 1e-7) + 1))"; }

  static config::Section<MeanSquaredLogarithmicError> section();
};

struct SquaredHinge : Composite {
  static constexpr std::string_view kName = "squared_hinge";
  static constexpr Targets kTargets = Targets::kSigns;

  std::string terms() const { return "square(relu(1 - where(y_true == 0, -1, y_true) * y_pred))"; }

  static config::Section<SquaredHinge> section();
};

struct CategoricalHinge : Composite {
  static constexpr std::string_view kName = "categorical_hinge";
  static constexpr std::string_view kAliases = "multi_margin_loss, multi_margin";
  static constexpr Targets kTargets = Targets::kProbabilities;

  std::string terms() const {
    return "relu(1 + max((1 - y_true) * y_pred, axis=-1, keepdims=true) - sum(y_true * y_pred, axis=-1, "
           "keepdims=true))";
  }

  static config::Section<CategoricalHinge> section();
};

struct CategoricalFocalCrossentropy : Composite, LastAxis {
  static constexpr std::string_view kName = "categorical_focal_crossentropy";
  static constexpr std::string_view kAliases = "categorical_focal_loss, softmax_focal_loss";
  static constexpr Targets kTargets = Targets::kProbabilities;
  /// One factor of all classes, or one of each.
  std::variant<double, std::vector<double>> alpha = 0.25;
  double gamma = 2;
  bool from_logits = false;
  double label_smoothing = 0;
  ClassWeight class_weight{};

  /// What the op reads: the loss of each position, in the places of the output and of the labels. Throws Error unless
  /// there are as many factors as classes.
  std::vector<ValueId> inputs(Graph& graph, ValueId output, ValueId labels) const;

  static config::Section<CategoricalFocalCrossentropy> section();
};

}  // namespace mirrortrain::losses
