#include "graph/ops/metric.h"

#include "graph/ops/targets.h"

namespace mirrortrain::ops {

std::vector<ValueSpec> Metric::infer(std::span<const ValueSpec> inputs) const {
  expect_targets(name(), kind == MetricKind::kSparseCategoricalAccuracy, inputs);
  return {{DType::kFloat64, {}, false}};
}

}  // namespace mirrortrain::ops
