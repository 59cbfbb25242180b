#include "kernels/cpu/product_update.h"

#include <algorithm>

#include "kernels/cpu/apply_rule.h"
#include "kernels/cpu/micro_gemm.h"
#include "kernels/cpu/paired_weight.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd.h"

namespace mirrortrain::cpu {
namespace {

// A block of the gradient and its panel of dy fit in the first-level cache together.
constexpr std::int64_t kMaxBlockRows = 64;
constexpr std::int64_t kSteps = 64;
constexpr std::int64_t kMaxPanel = 64;
constexpr std::int64_t kTileRows = 6;  // that `multiply` processes at once

/// Prefetches a cache line for writing. At the build's target levels the compiler's own write prefetch becomes a read
/// prefetch, although every processor of these levels has this instruction.
inline void prefetch_to_write(const float* line) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*line));
#else
  __builtin_prefetch(line, 1);
#endif
}

/// Prefetches weight and slots while the gradient is computed; the weight for writing, from the caches of the cores
/// that have read it. (Non-temporal stores are up to twice as slow: each line waits for those cores.)
inline void prefetch(const UpdateGroupView& group, std::int64_t element, std::int64_t columns) {
  const auto bring = [=](const float* from) {
    for (std::int64_t i = 0; i < columns; i += kLine) prefetch_to_write(from + element + i);
  };
  bring(group.master);
  for (const float* slot : group.slots) {
    if (slot != nullptr) bring(slot);
  }
}

/// A panel's x and dy at some steps, as the inner loops read them.
class FloatOperands {
 public:
  static constexpr std::int64_t kBlockRows = 48;

  FloatOperands(const ProductWeight& weight, const ProductSource& source, const WeightBlock& block, std::int64_t step,
                std::int64_t steps)
      : x_(reinterpret_cast<const float*>(source.x) + step * weight.in + block.row),
        dy_(reinterpret_cast<const float*>(source.dy) + step * weight.out + block.column),
        weight_(weight),
        columns_(block.columns),
        steps_(steps) {}

  /// Rows [i, i + rows) of the block.
  void multiply_into(float* gradient, std::int64_t i, std::int64_t rows, bool accumulate) const {
    multiply(rows, columns_, steps_, Scalars{x_ + i, 1, weight_.in}, {dy_, weight_.out},
             {gradient + i * columns_, columns_}, {.accumulate = accumulate});
  }

 private:
  const float* x_;
  const float* dy_;
  const ProductWeight& weight_;
  std::int64_t columns_, steps_;
};

/// The same for bfloat16, copied in pairs along the inner dimension.
class PairOperands {
 public:
  static constexpr std::int64_t kBlockRows = 64;  // amortizes copying dy

  PairOperands(const ProductWeight& weight, const ProductSource& source, const WeightBlock& block, std::int64_t step,
               std::int64_t steps)
      : columns_(block.columns), pairs_((steps + 1) / 2) {
    make_pairs(steps, block.rows, reinterpret_cast<const bfloat16*>(source.x) + step * weight.in + block.row, weight.in,
               x_, kBlockRows);
    make_pairs(steps, columns_, reinterpret_cast<const bfloat16*>(source.dy) + step * weight.out + block.column,
               weight.out, dy_, kMaxPanel);
  }

  void multiply_into(float* gradient, std::int64_t i, std::int64_t rows, bool accumulate) const {
    multiply_pairs(rows, columns_, pairs_, {x_ + i, 1, kBlockRows}, {dy_, kMaxPanel},
                   {gradient + i * columns_, columns_}, accumulate);
  }

 private:
  alignas(64) Pair x_[kSteps / 2 * kBlockRows];
  alignas(64) Pair dy_[kSteps / 2 * kMaxPanel];
  std::int64_t columns_, pairs_;
};

/// gradient[i][j] = the sum over the sources of x^T dy at the block's row i, column j.
template <class Operands>
void make_gradient(const UpdateGroupView& group, const ProductWeight& weight, std::span<const ProductSource> sources,
                   const WeightBlock& block, float* gradient) {
  bool accumulate = false;
  for (const ProductSource& source : sources) {
    for (std::int64_t step = 0; step < source.rows; step += kSteps) {
      const Operands operands(weight, source, block, step, std::min(kSteps, source.rows - step));
      for (std::int64_t i = 0; i < block.rows; i += kTileRows) {
        const std::int64_t rows = std::min(kTileRows, block.rows - i);
        for (std::int64_t r = i; !accumulate && r < i + rows; ++r) {
          prefetch(group, weight.first + (block.row + r) * weight.out + block.column, block.columns);
        }
        operands.multiply_into(gradient, i, rows, accumulate);
      }
      accumulate = true;
    }
  }
  if (!accumulate) std::fill_n(gradient, block.rows * block.columns, 0.0f);
}

/// Of the block, which the caches still have.
void refresh_copies(const UpdateGroupView& group, const ProductWeight& weight, const WeightBlock& block) {
  for (std::size_t form = 0; form < weight.copies.size(); ++form) {
    if (weight.copies[form] == nullptr) continue;
    write_pairs(static_cast<PairForm>(form), weight.in, weight.out, group.master + weight.first, block,
                reinterpret_cast<Pair*>(weight.copies[form]));
  }
}

template <class Operands, class Rule>
void update_rows(const scalar::RuleAtStep<Rule>& rule, const UpdateGroupView& group, const ProductWeight& weight,
                 std::span<const ProductSource> sources, std::int64_t begin, std::int64_t end) {
  alignas(64) float gradient[kMaxBlockRows * kMaxPanel];
  const std::int64_t blocks = (end - begin + Operands::kBlockRows - 1) / Operands::kBlockRows;
  // Even, for copies in pairs; equal parts avoid a small last one.
  const auto edge = [&](std::int64_t i) { return i == blocks ? end : begin + (end - begin) * i / blocks / 2 * 2; };
  for (std::int64_t column = 0; column < weight.out; column += panel_columns()) {
    const std::int64_t columns = std::min(panel_columns(), weight.out - column);
    for (std::int64_t i = 0; i < blocks; ++i) {
      const WeightBlock block{edge(i), edge(i + 1) - edge(i), column, columns};
      make_gradient<Operands>(group, weight, sources, block, gradient);
      scale_and_clip(rule, block.rows * columns, gradient);
      for (std::int64_t r = 0; r < block.rows; ++r) {
        const std::int64_t first = weight.first + (block.row + r) * weight.out + column;
        apply_rule(rule, group, first, columns, gradient + r * columns);
      }
      refresh_copies(group, weight, block);
    }
  }
}

}  // namespace

bool takes_product(std::int64_t out, DType operands) {
  if (out % kLanes != 0) return false;
  return operands == DType::kFloat32 || (operands == DType::kBfloat16 && multiplies_pairs());
}

void update_with_product(const UpdateRule& rule, const UpdateGroupView& group, const ProductWeight& weight,
                         std::span<const ProductSource> sources, const StepParams& params, int threads,
                         std::int64_t begin, std::int64_t end) {
  static_assert(kMaxPanel >= 4 * kLanes);
  with_rule_at_step(rule, group, params, [&]<class Rule>(const scalar::RuleAtStep<Rule>& at_this_step) {
    parallel_for(threads, end - begin, kMaxBlockRows, [&](std::int64_t from, std::int64_t to) {
      const auto update = [&]<class Operands>() {
        update_rows<Operands>(at_this_step, group, weight, sources, begin + from, begin + to);
      };
      if (weight.operands == DType::kBfloat16) {
        update.template operator()<PairOperands>();
      } else {
        update.template operator()<FloatOperands>();
      }
    });
  });
}

}  // namespace mirrortrain::cpu
