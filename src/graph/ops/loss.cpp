#include "graph/ops/loss.h"

#include "graph/ops/checks.h"
#include "graph/ops/targets.h"

namespace mirrortrain::ops {

std::vector<ValueSpec> Loss::infer(std::span<const ValueSpec> inputs) const {
  expect_targets(name(), kind == LossKind::kSparseCategoricalCrossentropy, inputs);
  return {{DType::kFloat64, {}, false}, inputs[0]};
}

std::vector<ValueId> Loss::gradient(Graph&, const Node& node, std::span<const ValueId>,
                                    const std::vector<bool>& wanted) const {
  if (wanted[1]) throw Error("loss: targets have no gradient; they cannot depend on trained variables");
  return {wanted[0] ? node.outputs[1] : kNoValue, kNoValue};
}

}  // namespace mirrortrain::ops
