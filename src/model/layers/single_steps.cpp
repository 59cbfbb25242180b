#include "model/layers/single_steps.h"

#include <vector>

#include "graph/ops/arrange.h"
#include "graph/ops/combine.h"
#include "graph/ops/elementwise.h"
#include "model/formula/formula_graph.h"
#include "model/layers/along_axis.h"

namespace mirrortrain::layers {

ValueId product(LayerBuilder& builder, ValueId a, ValueId b) {
  return builder.apply(ops::Combine(ops::CombineKind::kMultiply), {a, b});
}

ValueId with_leading_axis(LayerBuilder& builder, ValueId value) {
  std::vector<std::int64_t> dims = builder.shape(value).dims();
  dims.insert(dims.begin(), 1);
  return builder.apply(ops::Reshape(Shape(dims)), {value});
}

ValueId counts_at(LayerBuilder& builder, ValueId mask, std::int64_t step, std::size_t rank, DType dtype) {
  ValueId counts = part(builder.graph(), mask, 0, step, 1);
  if (rank > 1) counts = builder.apply(ops::Reshape(Shape(std::vector<std::int64_t>(rank, 1))), {counts});
  return dtype == DType::kFloat32 ? counts : builder.apply(ops::Cast(dtype), {counts});
}

ValueId kept_at_padding(LayerBuilder& builder, ValueId counts, ValueId now, ValueId before) {
  formula::Values values{{"counts", counts}, {"now", now}};
  if (before != kNoValue) values.emplace("before", before);
  const char* const text = before == kNoValue ? "where(counts, now, 0)" : "where(counts, now, before)";
  return formula::add_formula(builder.graph(), text, values, builder.graph().spec(now).dtype);
}

}  // namespace mirrortrain::layers
