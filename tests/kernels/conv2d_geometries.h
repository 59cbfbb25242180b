#pragma once

#include "graph/ops/conv.h"

/// The table of convolutions that every backend's kernels are tested with.
namespace mirrortrain::testing {

struct Conv2dGeometry {
  Shape image;   ///< [height, width, channels]
  Shape kernel;  ///< [height, width, channels / groups, filters]
  ops::Conv2dAttributes attributes;
  bool with_bias = true;
  ops::ActivationKind activation = ops::ActivationKind::kLinear;
};

/// Small enough for finite differences.
inline const Conv2dGeometry kSmall[] = {
    {{5, 6, 3}, {3, 3, 3, 4}, {}},
    {{5, 6, 3}, {3, 3, 3, 4}, {.padding = ops::Padding::kSame}, false, ops::ActivationKind::kRelu},
    {{7, 5, 2}, {3, 2, 2, 5}, {.strides = {2, 1}, .padding = ops::Padding::kSame}, true, ops::ActivationKind::kTanh},
    {{6, 6, 1}, {4, 4, 1, 3}, {.strides = {2, 2}, .padding = ops::Padding::kSame}},
    {{9, 8, 2}, {3, 3, 2, 3}, {.dilation_rate = {2, 3}, .padding = ops::Padding::kSame}},
    {{9, 8, 2}, {3, 2, 2, 3}, {.dilation_rate = {2, 1}}, true, ops::ActivationKind::kRelu},
    {{5, 4, 6}, {3, 3, 3, 4}, {.padding = ops::Padding::kSame, .groups = 2}},
    {{5, 4, 3}, {3, 3, 1, 6}, {.groups = 3}, false},
    {{4, 3, 5}, {1, 1, 5, 7}, {}},
    {{3, 3, 2}, {3, 3, 2, 2}, {}},
    {{1, 1, 4}, {3, 3, 4, 4}, {.padding = ops::Padding::kSame}, true, ops::ActivationKind::kRelu},
    {{5, 5, 2}, {1, 1, 2, 3}, {.strides = {3, 2}, .padding = ops::Padding::kSame}},
};

/// Large enough for the kernels that need many channels, with tails of every kind.
inline const Conv2dGeometry kLarge[] = {
    {{13, 13, 32}, {3, 3, 32, 64}, {}, true, ops::ActivationKind::kRelu},
    {{8, 9, 32}, {3, 3, 32, 32}, {.padding = ops::Padding::kSame}},
    {{11, 6, 19}, {3, 3, 19, 37}, {.padding = ops::Padding::kSame}, false, ops::ActivationKind::kRelu},
    {{7, 10, 48}, {3, 3, 48, 21}, {}},
    {{6, 5, 160}, {3, 3, 160, 32}, {.padding = ops::Padding::kSame}},
    {{14, 15, 1}, {3, 3, 1, 32}, {}, true, ops::ActivationKind::kRelu},
    {{12, 9, 3}, {5, 5, 3, 20}, {.padding = ops::Padding::kSame}},
    {{12, 9, 3}, {3, 3, 3, 33}, {.strides = {2, 2}, .padding = ops::Padding::kSame}, false},
    {{9, 9, 32}, {3, 3, 16, 32}, {.padding = ops::Padding::kSame, .groups = 2}},
    {{9, 9, 32}, {3, 3, 1, 32}, {.padding = ops::Padding::kSame, .groups = 32}, true, ops::ActivationKind::kRelu},
    {{6, 7, 40}, {1, 1, 40, 24}, {}},
    {{1, 1, 20}, {1, 1, 20, 7}, {}, true, ops::ActivationKind::kRelu},
};

/// Rows of more tiles than Winograd's kernels take at a time, and images too large for the second-level cache; the
/// first in whole lines, the second not.
inline const Conv2dGeometry kWide[] = {
    {{34, 346, 16}, {3, 3, 16, 16}, {.padding = ops::Padding::kSame}, true, ops::ActivationKind::kRelu},
    {{41, 211, 17}, {3, 3, 17, 21}, {}},
};

}  // namespace mirrortrain::testing
