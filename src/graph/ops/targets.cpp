#include "graph/ops/targets.h"

#include "graph/ops/checks.h"

namespace mirrortrain::ops {
namespace {

/// Without the ones at the end, which neither order nor number of elements depends on.
std::vector<std::int64_t> trimmed(std::vector<std::int64_t> dims) {
  while (!dims.empty() && dims.back() == 1) dims.pop_back();
  return dims;
}

}  // namespace

void expect_targets(std::string_view op, bool class_numbers, std::span<const ValueSpec> inputs) {
  const ValueSpec &y = inputs[0], &targets = inputs[1];
  expect(y.batched && y.dtype == DType::kFloat32 && y.shape.rank() > 0, op, "predictions as float32 [..., k] per row",
         y);
  std::vector<std::int64_t> dims = y.shape.dims();
  if (class_numbers) dims.pop_back();
  const DType dtype = class_numbers ? DType::kInt32 : DType::kFloat32;
  expect(targets.batched && targets.dtype == dtype && trimmed(targets.shape.dims()) == trimmed(dims), op,
         fmt::format("targets as {} {} per row", name_of(dtype), Shape(dims).text()), targets);
}

}  // namespace mirrortrain::ops
