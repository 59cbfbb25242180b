#pragma once

#include <cstdint>

#include "base/host_device.h"
#include "base/shape.h"
#include "graph/ops/attention.h"

// Where the numbers of an attention are, for all devices.
namespace mirrortrain::scalar {

struct AttentionShape {
  ops::AttentionAttributes op;
  std::int64_t rows, steps, sources, size, value_size;

  AttentionShape(const ops::AttentionAttributes& attributes, const Shape& query, const Shape& key, const Shape& value)
      : op(attributes),
        rows(query[0]),
        steps(query[1]),
        sources(key[1]),
        size(query[2] / op.heads),
        value_size(value[2] / op.heads) {}

  /// The first number of a row's step of a head in a tensor of so many steps and numbers of a head.
  MIRRORTRAIN_HOST_DEVICE std::int64_t at(std::int64_t row, std::int64_t step, std::int64_t head, std::int64_t of_steps,
                                          std::int64_t width) const {
    return ((row * of_steps + step) * op.heads + head) * width;
  }
  /// Where log_sums and the like have a step.
  MIRRORTRAIN_HOST_DEVICE std::int64_t of_step(std::int64_t row, std::int64_t head, std::int64_t step) const {
    return (row * op.heads + head) * steps + step;
  }
  /// How many source steps a step sees.
  MIRRORTRAIN_HOST_DEVICE std::int64_t seen(std::int64_t step) const {
    return op.causal && step + 1 < sources ? step + 1 : sources;
  }
  /// A weight's element for dropout.
  MIRRORTRAIN_HOST_DEVICE std::int64_t element(std::int64_t head, std::int64_t step, std::int64_t source) const {
    return (head * steps + step) * ((sources + 3) / 4 * 4) + source;
  }
};

}  // namespace mirrortrain::scalar
