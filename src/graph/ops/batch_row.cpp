#include "graph/ops/batch_row.h"

#include "graph/ops/checks.h"

namespace mirrortrain::ops {

std::vector<ValueSpec> BatchRow::infer(std::span<const ValueSpec> inputs) const {
  expect(inputs[0].batched, name(), "a value with rows", inputs[0]);
  return {{DType::kFloat32, {rows}, true}};
}

std::vector<ValueId> BatchRow::gradient(Graph&, const Node& node, std::span<const ValueId>,
                                        const std::vector<bool>&) const {
  return std::vector<ValueId>(node.inputs.size(), kNoValue);
}

}  // namespace mirrortrain::ops
