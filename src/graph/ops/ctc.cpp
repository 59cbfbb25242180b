#include "graph/ops/ctc.h"

#include "graph/ops/checks.h"
#include "graph/ops/combine.h"
#include "graph/ops/elementwise.h"

namespace mirrortrain::ops {

std::vector<ValueSpec> Ctc::infer(std::span<const ValueSpec> inputs) const {
  const ValueSpec &logits = inputs[0], &labels = inputs[1];
  expect(logits.batched && logits.dtype == DType::kFloat32 && logits.shape.rank() == 2, name(),
         "logits as float32 [steps, classes] per row", logits);
  expect(labels.batched && labels.dtype == DType::kInt32 && labels.shape.rank() == 1, name(),
         "labels as int32 [length] per row", labels);
  return {{DType::kFloat32, {1}, true}, logits};
}

std::vector<ValueId> Ctc::gradient(Graph& graph, const Node& node, std::span<const ValueId> output_gradients,
                                   const std::vector<bool>& wanted) const {
  if (!flows(output_gradients, wanted)) return {kNoValue, kNoValue};
  const ValueId by_example = graph.apply_one(Reshape({1, 1}), {output_gradients[0]});
  return {graph.apply_one(Combine(CombineKind::kMultiply), {node.outputs[1], by_example}), kNoValue};
}

}  // namespace mirrortrain::ops
