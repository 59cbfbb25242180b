#include "graph/ops/upsample2d.h"

#include "graph/ops/checks.h"

namespace mirrortrain::ops {

std::vector<ValueSpec> Upsample2d::infer(std::span<const ValueSpec> inputs) const {
  ValueSpec y = inputs[0];
  expect_images(name(), y);
  for (const std::size_t axis : {0, 1}) y.shape[axis] *= size[axis];
  return {y};
}

std::vector<ValueId> Upsample2d::gradient(Graph& graph, const Node&, std::span<const ValueId> output_gradients,
                                          const std::vector<bool>& wanted) const {
  if (!wanted[0] || output_gradients[0] == kNoValue) return {kNoValue};
  return {graph.apply_one(Upsample2dGradient(*this), {output_gradients[0]})};
}

std::vector<ValueSpec> Upsample2dGradient::infer(std::span<const ValueSpec> inputs) const {
  ValueSpec dx = inputs[0];
  expect_images(name(), dx);
  for (const std::size_t axis : {0, 1}) {
    expect(dx.shape[axis] % size[axis] == 0, name(), fmt::format("a multiple of {} in axis {}", size[axis], axis),
           inputs[0]);
    dx.shape[axis] /= size[axis];
  }
  return {dx};
}

}  // namespace mirrortrain::ops
