#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/dtype.h"
#include "kernels/cpu/update.h"

namespace mirrortrain::cpu {

/// A weight [in, out] in a group, `first` its first element there, and the data type of x and dy (see takes_product).
struct ProductWeight {
  std::int64_t first = 0, in = 0, out = 0;
  DType operands = DType::kFloat32;
};

/// One replica's part of the weight's gradient, x^T dy: x [rows, in], dy [rows, out].
struct ProductSource {
  const std::byte* x = nullptr;
  const std::byte* dy = nullptr;
  std::int64_t rows = 0;
};

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
