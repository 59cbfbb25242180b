#pragma once

#include <memory>
#include <vector>

#include "graph/graph.h"

namespace mirrortrain::ops {

/// Numbers that a layer knows when it is built, such as a table over positions. No inputs. Output: `shape` float32,
/// without rows.
struct Constant : Op {
  Shape shape;
  std::shared_ptr<const std::vector<float>> values;  ///< shared by copies of the op
  Constant(Shape of, std::vector<float> numbers)
      : shape(std::move(of)), values(std::make_shared<const std::vector<float>>(std::move(numbers))) {}
  std::string_view name() const override { return "constant"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

}  // namespace mirrortrain::ops
