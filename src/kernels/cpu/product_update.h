#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/dtype.h"
#include "kernels/cpu/update.h"
#include "kernels/step_kernels.h"

namespace mirrortrain::cpu {

/// Whether `update_with_product` supports a weight with `out` outputs: they are in whole vectors, and if x and dy are
/// bfloat16, this processor multiplies pairs of them.
bool takes_product(std::int64_t out, DType operands);

/// Updates the weight's rows [begin, end) with the sum of the sources, in their order. The gradient is computed block
/// by block where the rule uses it, and never stored: the cores only exchange x and dy, which are much smaller than the
/// gradients.
void update_with_product(const UpdateRule& rule, const UpdateGroupView& group, const ProductWeight& weight,
                         std::span<const ProductSource> sources, const StepParams& params, int threads,
                         std::int64_t begin, std::int64_t end);

}  // namespace mirrortrain::cpu
