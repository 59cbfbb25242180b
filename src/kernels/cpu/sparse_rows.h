#pragma once

#include <cstdint>
#include <span>

#include "kernels/cpu/update.h"
#include "kernels/step_kernels.h"

namespace mirrortrain::cpu {

// As StepKernels' of these names. All add in the order in which EmbeddingGradient and a dense update do, so that a
// sparse gradient has the bits of the dense one.

void sum_lookups(std::span<const Lookups> lookups, const TableWeight& table, float scale,
                 std::span<std::uint64_t> scratch, std::span<float> row, const SparseRows& to);
void update_sparse(const UpdateRule& rule, const UpdateGroupView& group, const TableWeight& table,
                   std::span<const SparseRows> gradients, const StepParams& params, int threads, std::int64_t begin,
                   std::int64_t end);
void merge_sparse(const TableWeight& table, std::span<const SparseRows> gradients, const SparseRows& to);
void store_sparse(const TableWeight& table, std::span<const SparseRows> gradients, bool zeros, float* gradient,
                  std::int64_t begin, std::int64_t end);

}  // namespace mirrortrain::cpu
