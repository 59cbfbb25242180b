#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "config/section.h"
#include "graph/graph.h"
#include "graph/ops/loss.h"
#include "model/losses/loss_common.h"
#include "model/losses/targets.h"

namespace mirrortrain::losses {

/// Connectionist temporal classification: ops::Ctc of logits [steps, classes] and labels [label_length], padded with 0.
struct Ctc : LossCommon {
  static constexpr std::string_view kName = "ctc";
  static constexpr std::string_view kAliases = "ctc_loss";
  static constexpr Targets kTargets = Targets::kSymbols;
  static constexpr bool kTakesMask = false;
  std::int64_t label_length = 1;

  ops::Loss op() const { return ops::Loss(ops::LossKind::kOutput); }
  std::vector<ValueId> inputs(Graph& graph, ValueId output, ValueId labels) const;

  static config::Section<Ctc> section();
};

}  // namespace mirrortrain::losses
