#pragma once

#include <array>

#include "graph/graph.h"

namespace mirrortrain::ops {

enum class Interpolation : std::uint8_t { kNearest, kBilinear, kBicubic, kLanczos3, kLanczos5 };

/// Upsamples images by integer factors, channels last. All methods but nearest interpolate between pixel centers, as
/// Keras does; at the edges the weights of the existing pixels add up to 1. An axis of factor 1 is unchanged.
/// Input: batched [height, width, channels] float32 or bfloat16. Output: batched [height size[0], width size[1],
/// channels].
struct Upsample2d : Op {
  std::array<std::int64_t, 2> size;
  Interpolation interpolation;
  Upsample2d(std::array<std::int64_t, 2> factors, Interpolation how) : size(factors), interpolation(how) {}
  std::string_view name() const override { return "upsample2d"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

/// Input: gradient of the output. Output: gradient of x.
struct Upsample2dGradient : Op {
  std::array<std::int64_t, 2> size;
  Interpolation interpolation;
  explicit Upsample2dGradient(const Upsample2d& op) : size(op.size), interpolation(op.interpolation) {}
  std::string_view name() const override { return "upsample2d_gradient"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

}  // namespace mirrortrain::ops
