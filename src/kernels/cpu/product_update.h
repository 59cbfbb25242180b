#pragma once

#include <cstdint>
#include <span>

#include "kernels/cpu/update.h"

namespace mirrortrain::cpu {

/// A weight [in, out] in a group, `first` its first element there. `out` is a multiple of the vectors' width (see
/// takes_product).
struct ProductWeight {
  std::int64_t first = 0, in = 0, out = 0;
};

/// One replica's part of the weight's gradient, x^T dy: x [rows, in], dy [rows, out].
struct ProductSource {
  const float* x = nullptr;
  const float* dy = nullptr;
  std::int64_t rows = 0;
};

/// Whether `update_with_product` can take a weight with so many outputs.
bool takes_product(std::int64_t out);

/// Updates the weight's rows [begin, end) with the sum of the sources, in their order. The gradient is made block by
/// block where the rule uses it, and never stored: what the cores of a machine have to tell each other is x and dy,
/// which are much smaller than the gradients. `shared`: other cores read the weight in each step, so that its lines are
/// better written past the caches than asked back from theirs; the weight then begins at a multiple of 64 bytes.
void update_with_product(const UpdateRule& rule, const UpdateGroupView& group, const ProductWeight& weight,
                         std::span<const ProductSource> sources, const StepParams& params, bool shared, int threads,
                         std::int64_t begin, std::int64_t end);

}  // namespace mirrortrain::cpu
