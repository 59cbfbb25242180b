#pragma once

#include <string_view>
#include <vector>

#include "config/section.h"
#include "graph/graph.h"
#include "graph/ops/loss.h"
#include "model/losses/loss_common.h"
#include "model/losses/targets.h"

namespace mirrortrain::losses {

/// Circle loss (Sun et al., 2020) of embeddings of length 1, whose labels are numbers of groups: each example is
/// compared with all of the global batch. The loss is the mean over the examples whose own is above 0, as Keras's.
struct Circle : LossCommon {
  static constexpr std::string_view kName = "circle";
  static constexpr std::string_view kAliases = "circle_loss";
  static constexpr Targets kTargets = Targets::kGroups;
  static constexpr bool kTakesMask = false;
  double gamma = 80, margin = 0.4;
  bool remove_diagonal = true;

  ops::Loss op() const { return ops::Loss(ops::LossKind::kOutput); }

  /// `batch`: the most examples of a global batch.
  std::vector<ValueId> inputs(Graph& graph, ValueId output, ValueId labels, ValueId present, std::int64_t batch) const;
  /// The mask of the examples that count, given what `inputs` returns first.
  ValueId counted(Graph& graph, ValueId loss) const;

  static config::Section<Circle> section();
};

}  // namespace mirrortrain::losses
