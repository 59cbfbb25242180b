#include "graph/ops/constant.h"

#include <fmt/format.h>

#include "base/error.h"

namespace mirrortrain::ops {

std::vector<ValueSpec> Constant::infer(std::span<const ValueSpec>) const {
  if (shape.elements() != static_cast<std::int64_t>(values->size())) {
    throw Error(fmt::format("constant: {} has not {} elements", shape.text(), values->size()));
  }
  return {{DType::kFloat32, shape, false}};
}

}  // namespace mirrortrain::ops
