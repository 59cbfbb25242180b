#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/section.h"
#include "graph/graph.h"
#include "graph/ops/loss.h"
#include "model/losses/loss_common.h"
#include "model/losses/targets.h"

// Losses of how much the output overlaps with the labels, from sums over several axes, of which the first is the batch.
namespace mirrortrain::losses {

/// Axes as Keras counts them: 0 is the batch, negative ones count from the end; null: all.
using Axes = std::optional<std::variant<std::int64_t, std::vector<std::int64_t>>>;

struct Overlap : LossCommon {
  static constexpr Targets kTargets = Targets::kProbabilities;
  static constexpr bool kTakesMask = false;
  Axes axis;

  ops::Loss op() const { return ops::Loss(ops::LossKind::kOutput); }

  /// Whether sums go over the batch, so that the loss is one of it rather than one of each example.
  bool is_of_batch(const Shape& example) const;

  static config::Section<Overlap> section();

 protected:
  /// The loss from the sums of y_true * y_pred, `both`, of y_true and of y_pred, as a formula: one number for each
  /// place of the axes that are not summed over. Where the batch is, the sums are over the global one, and every
  /// example has the same numbers. `present`: of examples, those that count; kNoValue: all do.
  std::vector<ValueId> of_sums(Graph& graph, const std::string& formula, ValueId output, ValueId labels,
                               ValueId present) const;
};

struct Dice : Overlap {
  static constexpr std::string_view kName = "dice";
  static constexpr std::string_view kAliases = "dice_loss, soft_dice, dice_coefficient";

  std::vector<ValueId> inputs(Graph& graph, ValueId output, ValueId labels, ValueId present) const;

  static config::Section<Dice> section();
};

struct Tversky : Overlap {
  static constexpr std::string_view kName = "tversky";
  static constexpr std::string_view kAliases = "tversky_loss";
  double alpha = 0.5, beta = 0.5;

  std::vector<ValueId> inputs(Graph& graph, ValueId output, ValueId labels, ValueId present) const;

  static config::Section<Tversky> section();
};

}  // namespace mirrortrain::losses
