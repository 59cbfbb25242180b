#pragma once

#include "graph/graph.h"

namespace mirrortrain::ops {

/// Checks the inputs of a loss or metric: y batched [..., k] float32, and targets batched: float32 like y (an axis of 1
/// at the end may be missing or added), or, where `class_numbers`, one int32 per position of y. Throws Error otherwise.
void expect_targets(std::string_view op, bool class_numbers, std::span<const ValueSpec> inputs);

}  // namespace mirrortrain::ops
