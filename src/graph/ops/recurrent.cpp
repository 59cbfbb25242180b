#include "graph/ops/recurrent.h"

#include "graph/ops/checks.h"
#include "graph/ops/dense.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/mask.h"

namespace mirrortrain::ops {
namespace {

std::int64_t units_of(const Op& op, const RecurrentAttributes& attributes, const ValueSpec& kernel) {
  const bool is_matrix = kernel.shape.rank() == 2;
  expect(is_matrix && is_float32(kernel, {kernel.shape[0], attributes.gates() * kernel.shape[0]}), op.name(),
         fmt::format("a float32 kernel [units, {} units]", attributes.gates()), kernel);
  return kernel.shape[0];
}

ValueSpec saved_spec(const RecurrentAttributes& attributes, std::int64_t steps, std::int64_t units) {
  return {DType::kFloat32, {steps, attributes.saved() * units}, true};
}

}  // namespace

std::vector<ValueSpec> Recurrent::infer(std::span<const ValueSpec> inputs) const {
  const std::int64_t units = units_of(*this, *this, inputs[1]);
  const ValueSpec& x = inputs[0];
  expect(x.batched && is_float(x.dtype) && x.shape.rank() == 2 && x.shape[0] > 0 && x.shape[1] == gates() * units,
         name(), fmt::format("[steps, {}] per row, float32 or bfloat16", gates() * units), x);
  if (inputs.size() > 2 && present(inputs[2])) {
    expect_same(name(), "the recurrent bias", {DType::kFloat32, {gates() * units}, false}, inputs[2]);
  }
  if (inputs.size() > 3) expect_mask(name(), {x.shape[0]}, inputs[3], true);
  return {{x.dtype, {x.shape[0], units}, true}, saved_spec(*this, x.shape[0], units)};
}

std::vector<ValueId> Recurrent::gradient(Graph& graph, const Node& node, std::span<const ValueId> output_gradients,
                                         const std::vector<bool>& wanted) const {
  std::vector<ValueId> gradients(node.inputs.size(), kNoValue);
  if (output_gradients[0] == kNoValue) return gradients;
  const std::vector<ValueId> found =
      graph.apply(RecurrentGradient(*this), {node.inputs[1], node.outputs[0], node.outputs[1], output_gradients[0],
                                             node.inputs.size() > 3 ? node.inputs[3] : kNoValue});
  if (wanted[0]) gradients[0] = found[0];
  const bool with_bias = node.inputs.size() > 2 && node.inputs[2] != kNoValue && wanted[2];
  if (wanted[1] || with_bias) {
    const ValueId right = adds_products() ? found[0] : found[2];
    const ValueSpec spec = graph.spec(found[1]);
    const ValueId left =
        adds_products() ? graph.apply_one(Reshape({spec.shape[0], spec.shape[2]}), {found[1]}) : found[1];
    const std::vector<ValueId> weights = graph.apply(DenseWeightGradient(with_bias), {left, right});
    if (wanted[1]) gradients[1] = weights[0];
    if (with_bias) gradients[2] = weights[1];
  }
  return gradients;
}

std::vector<ValueSpec> RecurrentGradient::infer(std::span<const ValueSpec> inputs) const {
  const std::int64_t units = units_of(*this, *this, inputs[0]);
  const ValueSpec& states = inputs[1];
  expect(states.batched && is_float(states.dtype) && states.shape.rank() == 2 && states.shape[1] == units, name(),
         fmt::format("states [steps, {}] per row, float32 or bfloat16", units), states);
  const std::int64_t steps = states.shape[0];
  expect_same(name(), "what Recurrent saved", saved_spec(*this, steps, units), inputs[2]);
  expect_same(name(), "the states' gradient", states, inputs[3]);
  if (inputs.size() > 4) expect_mask(name(), {steps}, inputs[4], true);
  std::vector<ValueSpec> outputs{{states.dtype, {steps, gates() * units}, true},
                                 {states.dtype, {steps, products(), units}, true}};
  if (!adds_products()) outputs.push_back({states.dtype, {steps, products(), gates() * units}, true});
  return outputs;
}

}  // namespace mirrortrain::ops
