#include "model/layers/along_axis.h"

#include <vector>

#include "graph/ops/arrange.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/upsample2d.h"

namespace mirrortrain::layers {

ValueId part(Graph& graph, ValueId value, std::size_t axis, std::int64_t first, std::int64_t count) {
  const Shape& shape = graph.spec(value).shape;
  std::vector<std::int64_t> before(shape.rank(), 0), behind(before);
  before[axis] = first;
  behind[axis] = shape[axis] - first - count;
  return graph.apply_one(ops::Crop(std::move(before), std::move(behind)), {value});
}

ValueId step(Graph& graph, ValueId value, std::size_t axis, std::int64_t number) {
  std::vector<std::int64_t> dims = graph.spec(value).shape.dims();
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  return graph.apply_one(ops::Reshape(Shape(std::move(dims))), {part(graph, value, axis, number, 1)});
}

ValueId copies(Graph& graph, ValueId value, std::size_t axis, std::int64_t times) {
  if (times == 1) return value;
  Shape shape = graph.spec(value).shape;
  std::int64_t before = 1, behind = 1;
  for (std::size_t i = 0; i < shape.rank(); ++i) (i < axis ? before : behind) *= i == axis ? 1 : shape[i];
  const ops::Upsample2d upsample({1, times}, ops::Interpolation::kNearest);
  const ValueId lines = graph.apply_one(ops::Reshape({before, shape[axis], behind}), {value});
  shape[axis] *= times;
  return graph.apply_one(ops::Reshape(shape), {graph.apply_one(upsample, {lines})});
}

}  // namespace mirrortrain::layers
