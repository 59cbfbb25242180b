#pragma once

#include "graph/graph.h"

namespace mirrortrain::ops {

/// Connectionist temporal classification (Graves et al., 2006): minus the logarithm of the probability that the steps
/// give a label's symbols in their order, whichever steps give each of them: a symbol may be repeated, and blanks, the
/// class 0, may occur between symbols and must occur between equal ones.
/// Inputs: logits batched [steps, classes] float32; labels batched [length] int32, of which the first ones count, as
/// many as are not 0. Outputs: the loss batched [1] float32, infinity for a label that needs more steps; its gradient
/// with respect to the logits, batched like them, 0 where it is infinite.
struct Ctc : Op {
  std::string_view name() const override { return "ctc"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

}  // namespace mirrortrain::ops
