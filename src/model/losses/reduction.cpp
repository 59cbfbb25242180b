#include "model/losses/reduction.h"

#include <fmt/format.h>

#include <cstdint>
#include <vector>

#include "graph/ops/collective.h"
#include "graph/ops/combine.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/mask.h"
#include "model/formula/formula_graph.h"

namespace mirrortrain::losses {
namespace {

/// The sum of a batched value's numbers over the global batch: float32 [].
ValueId sum_of_batch(Graph& graph, ValueId value) {
  const Shape ones(std::vector<std::int64_t>(graph.spec(value).shape.rank(), 1));
  const ValueId own = graph.apply_one(ops::SumTo(ones, false), {value});
  return graph.apply_one(ops::AllReduce(ops::Axis::kData), {own});
}

}  // namespace

ValueId reduced_weights(Graph& graph, Reduction reduction, ValueId weights, ValueId value, ValueId mask,
                        bool of_batch) {
  const bool sums = reduction == Reduction::kSum;
  if (!sums && (reduction != Reduction::kMeanWithSampleWeight || weights == kNoValue)) return weights;
  const Shape shape = graph.spec(value).shape;
  const auto positions = static_cast<double>(shape.elements() / shape.back());  // of an example
  const ValueId of_example = weights == kNoValue ? graph.apply_one(ops::FullMask(Shape{}), {value}) : weights;
  if (sums && of_batch && weights == kNoValue) {
    return graph.apply_one(ops::Scale(static_cast<float>(positions)), {of_example});
  }
  // The mean divides by the number of positions, or by that of those that the mask counts.
  const ValueId counted = mask == kNoValue ? graph.apply_one(ops::FullMask(Shape{}), {value}) : mask;
  const double together =
      mask == kNoValue ? positions : positions / static_cast<double>(graph.spec(mask).shape.elements());
  formula::Values values{{"weight", of_example}, {"count", sum_of_batch(graph, counted)}};
  if (sums) {
    return formula::add_formula(graph, fmt::format("sum(weight * count) * {:.9g}", together), values, DType::kFloat32);
  }
  ValueId weighed = weights;
  if (mask != kNoValue) {
    weighed = formula::add_formula(graph, "weight * mask", {{"weight", weights}, {"mask", mask}}, DType::kFloat32);
  }
  values.emplace("total", sum_of_batch(graph, weighed));
  return formula::add_formula(
      graph,
      fmt::format("sum(where(total > 0, weight * count / total, 0)) * {:.9g}", mask == kNoValue ? positions : 1.0),
      values, DType::kFloat32);
}

}  // namespace mirrortrain::losses
