#pragma once

#include "graph/ops/checks.h"

namespace mirrortrain::ops {

// Checks of normalizations' inputs; `x`: batched [..., channels].

inline ValueSpec per_channel(const ValueSpec& x) { return {DType::kFloat32, {x.shape.back()}, false}; }

inline void expect_x(std::string_view op, const ValueSpec& x) {
  expect(x.batched && x.shape.rank() > 0 && is_float(x.dtype), op, "[..., channels] per row, float32 or bfloat16", x);
}

inline void expect_channels(std::string_view op, std::string_view what, const ValueSpec& x, const ValueSpec& found,
                            bool optional = false) {
  if (!optional || present(found)) expect_same(op, what, per_channel(x), found);
}

}  // namespace mirrortrain::ops
