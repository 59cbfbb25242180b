#pragma once

#include <utility>
#include <vector>

#include "graph/ops/pointwise.h"

namespace mirrortrain::ops {

/// A function of values that are broadcast to each other, in float32: `of(function, operands)` adds its steps and
/// returns the result. Without rows unless one of the values has some.
template <class Function>
ValueId each(Graph& graph, std::vector<ValueId> values, const Function& of) {
  PointwiseFunction function(values.size());
  std::vector<PointwiseFunction::Operand> operands;
  for (std::size_t i = 0; i < values.size(); ++i) operands.push_back(function.input(i));
  function.set_result(of(function, operands));
  return pointwise(graph, function, std::move(values), DType::kFloat32);
}

}  // namespace mirrortrain::ops
