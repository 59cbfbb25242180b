#include "graph/ops/window.h"

#include <algorithm>

namespace mirrortrain::ops {

WindowAxis window_axis(std::int64_t input, std::int64_t window, std::int64_t stride, std::int64_t dilation,
                       Padding padding) {
  const std::int64_t extent = (window - 1) * dilation + 1;
  WindowAxis axis;
  if (padding == Padding::kSame) {
    axis.output = (input + stride - 1) / stride;
    const std::int64_t padded = std::max<std::int64_t>(0, (axis.output - 1) * stride + extent - input);
    axis.pad_before = padded / 2;
    axis.pad_after = padded - axis.pad_before;
  } else if (input >= extent) {
    axis.output = (input - extent) / stride + 1;
  }
  return axis;
}

}  // namespace mirrortrain::ops
