#include "graph/ops/pointwise.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/ops/checks.h"
#include "graph/ops/combine.h"
#include "graph/ops/elementwise.h"

namespace mirrortrain::ops {
Shape broadcast(const Shape& a, const Shape& b) {
  if (std::optional<Shape> shape = common_shape(a, b)) return *std::move(shape);
  throw Error(fmt::format("expected shapes that are equal, or 1, in every axis from the last on; found {} and {}",
                          a.text(), b.text()));
}

ValueId summed_to(Graph& graph, ValueId gradient, ValueId value) {
  const ValueSpec spec = graph.spec(value);
  if (graph.spec(gradient) == spec) return gradient;
  const Shape target = with_rank(spec.shape, graph.spec(gradient).shape.rank());
  if (graph.spec(gradient).shape != target || !spec.batched) {
    gradient = graph.apply_one(SumTo(target, spec.batched), {gradient});
  }
  return target == spec.shape ? gradient : graph.apply_one(Reshape(spec.shape), {gradient});
}

ValueId pointwise(Graph& graph, const PointwiseFunction& function, std::vector<ValueId> inputs, DType dtype) {
  std::size_t rank = 0;
  for (const ValueId input : inputs) rank = std::max(rank, graph.spec(input).shape.rank());
  for (ValueId& input : inputs) {
    const ValueSpec& spec = graph.spec(input);
    if (!spec.batched || spec.shape.rank() == rank) continue;
    input = graph.apply_one(Reshape(with_rank(spec.shape, rank)), {input});
  }
  return graph.apply_one(Pointwise(function, dtype), std::move(inputs));
}

Pointwise::Pointwise(PointwiseFunction of, DType type) : function(std::move(of)), dtype(type) {
  if (function.inputs() > kMostInputs || function.steps().size() > kMostSteps ||
      function.constants().size() > kMostConstants) {
    throw Error(fmt::format("pointwise: expected at most {} inputs, {} steps and {} constants, found {}, {} and {}",
                            kMostInputs, kMostSteps, kMostConstants, function.inputs(), function.steps().size(),
                            function.constants().size()));
  }
}

std::vector<ValueSpec> Pointwise::infer(std::span<const ValueSpec> inputs) const {
  if (inputs.size() != function.inputs()) {
    throw Error(fmt::format("pointwise: expected {} inputs, found {}", function.inputs(), inputs.size()));
  }
  Shape shape;
  bool is_batched = false;
  for (const ValueSpec& input : inputs) {
    expect(input.batched ? is_float(input.dtype) : input.dtype == DType::kFloat32, name(),
           "float32 or bfloat16 per row, or float32", input);
    shape = broadcast(shape, input.shape);
    is_batched = is_batched || input.batched;
  }
  if (!is_batched && dtype != DType::kFloat32) throw Error("pointwise: expected rows of bfloat16, found none");
  for (const ValueSpec& input : inputs) {
    if (input.batched) expect(input.shape.rank() == shape.rank(), name(), fmt::format("{} axes", shape.rank()), input);
  }
  return {{dtype, shape, is_batched}};
}

std::vector<ValueId> Pointwise::gradient(Graph& graph, const Node& node, std::span<const ValueId> output_gradients,
                                         const std::vector<bool>& wanted) const {
  std::vector<ValueId> gradients(node.inputs.size(), kNoValue);
  if (output_gradients[0] == kNoValue) return gradients;
  std::vector<ValueId> values = node.inputs;
  values.insert(values.end(), {output_gradients[0], node.outputs[0]});
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!wanted[i] || !function.reads(i)) continue;
    const PointwiseFunction derivative = function.derivative(i);
    if (derivative.result().kind == PointwiseOperand::Kind::kConstant) continue;  // zero: no gradient flows
    std::vector<ValueId> read;
    for (std::size_t value = 0; value < values.size(); ++value) {
      if (derivative.reads(value)) read.push_back(values[value]);
    }
    const DType type = graph.spec(node.inputs[i]).dtype;
    const bool is_copy = derivative.steps().empty() && graph.spec(read.front()).dtype == type;
    const ValueId term =
        is_copy ? read.front() : graph.apply_one(Pointwise(derivative.without_unread_inputs(), type), std::move(read));
    gradients[i] = summed_to(graph, term, node.inputs[i]);
  }
  return gradients;
}

}  // namespace mirrortrain::ops
