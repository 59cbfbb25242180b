#include "kernels/cpu/product_update.h"

#include <algorithm>

#include "base/error.h"
#include "kernels/cpu/apply_rule.h"
#include "kernels/cpu/micro_gemm.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd.h"

namespace mirrortrain::cpu {
namespace {

// A block of the gradient and the panel of dy that it is made from stay in the first-level cache together.
constexpr std::int64_t kBlockRows = 48;
constexpr std::int64_t kSteps = 64;
constexpr std::int64_t kMaxPanel = 64;
constexpr std::int64_t kTileRows = 6;  // that `multiply` takes at once

/// Brings a line here to be written. The compiler's own prefetch for writing is one for reading on the levels that we
/// build for, though every processor of them has this one.
inline void prefetch_to_write(const float* line) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*line));
#else
  __builtin_prefetch(line, 1);
#endif
}

/// Weight and slots come from far while the gradient is being made.
inline void prefetch(const UpdateGroupView& group, std::int64_t element, std::int64_t columns) {
  for (std::int64_t i = 0; i < columns; i += kLine) __builtin_prefetch(group.master + element + i);
  for (const float* slot : group.slots) {
    if (slot == nullptr) continue;
    for (std::int64_t i = 0; i < columns; i += kLine) prefetch_to_write(slot + element + i);
  }
}

/// A block of the weight: its rows and columns.
struct Block {
  std::int64_t row, rows, column, columns;
};

/// gradient[i][j] = the sum over the sources of x^T dy at the block's row i, column j.
void make_gradient(const UpdateGroupView& group, const ProductWeight& weight, std::span<const ProductSource> sources,
                   const Block& block, float* gradient) {
  bool accumulate = false;
  for (const ProductSource& source : sources) {
    for (std::int64_t step = 0; step < source.rows; step += kSteps) {
      const std::int64_t steps = std::min(kSteps, source.rows - step);
      for (std::int64_t i = 0; i < block.rows; i += kTileRows) {
        const std::int64_t rows = std::min(kTileRows, block.rows - i);
        for (std::int64_t r = i; !accumulate && r < i + rows; ++r) {
          prefetch(group, weight.first + (block.row + r) * weight.out + block.column, block.columns);
        }
        multiply(rows, block.columns, steps, Scalars{source.x + step * weight.in + block.row + i, 1, weight.in},
                 {source.dy + step * weight.out + block.column, weight.out},
                 {gradient + i * block.columns, block.columns}, {.accumulate = accumulate});
      }
      accumulate = true;
    }
  }
  if (!accumulate) std::fill_n(gradient, block.rows * block.columns, 0.0f);
}

/// Applies the rule to `columns` elements from `first` on, and writes them past the caches.
template <class Rule>
void apply_and_stream(const scalar::RuleAtStep<Rule>& rule, const UpdateGroupView& group, std::int64_t first,
                      std::int64_t columns, const float* gradient) {
  alignas(64) float weights[kMaxPanel];
  std::copy_n(group.master + first, columns, weights);
  apply_rule(rule, group, first, columns, gradient, weights);
  for (std::int64_t i = 0; i < columns; i += kLanes) stream(group.master + first + i, load(weights + i));
}

template <class Rule>
void update_rows(const scalar::RuleAtStep<Rule>& rule, const UpdateGroupView& group, const ProductWeight& weight,
                 std::span<const ProductSource> sources, const StepParams& params, bool shared, std::int64_t begin,
                 std::int64_t end) {
  alignas(64) float gradient[kBlockRows * kMaxPanel];
  for (std::int64_t column = 0; column < weight.out; column += panel_columns()) {
    const std::int64_t columns = std::min(panel_columns(), weight.out - column);
    for (std::int64_t row = begin; row < end; row += kBlockRows) {
      const Block block{row, std::min(kBlockRows, end - row), column, columns};
      make_gradient(group, weight, sources, block, gradient);
      scale_and_clip(params, block.rows * columns, gradient);
      for (std::int64_t i = 0; i < block.rows; ++i) {
        const std::int64_t first = weight.first + (row + i) * weight.out + column;
        if (shared) {
          apply_and_stream(rule, group, first, columns, gradient + i * columns);
        } else {
          apply_rule(rule, group, first, columns, gradient + i * columns);
        }
      }
    }
  }
  if (shared) end_streaming();
}

}  // namespace

bool takes_product(std::int64_t out) { return out % kLanes == 0; }

void update_with_product(const UpdateRule& rule, const UpdateGroupView& group, const ProductWeight& weight,
                         std::span<const ProductSource> sources, const StepParams& params, bool shared, int threads,
                         std::int64_t begin, std::int64_t end) {
  static_assert(kMaxPanel >= 4 * kLanes);
  with_functor(rule, [&]<class Rule>(const Rule& functor) {
    if constexpr (scalar::kScalesByNorms<Rule>) {
      throw Error("a rule that scales by norms updates with gradients that were stored");
    } else {
      const scalar::RuleAtStep<Rule> at_this_step(functor, group.traits, params);
      parallel_for(threads, end - begin, kBlockRows, [&](std::int64_t from, std::int64_t to) {
        update_rows(at_this_step, group, weight, sources, params, shared, begin + from, begin + to);
      });
    }
  });
}

}  // namespace mirrortrain::cpu
