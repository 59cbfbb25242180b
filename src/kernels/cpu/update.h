#pragma once

#include <cstdint>

#include "kernels/scalar/compress.h"
#include "kernels/scalar/update_group.h"
#include "kernels/scalar/weight_bounds.h"
#include "kernels/scalar/weight_spectrum.h"

namespace mirrortrain::cpu {

using scalar::GradientSource;
using scalar::GradientSum;
using scalar::kMaxSlots;
using scalar::kUpdateChunk;
using scalar::RegularizedSegment;
using scalar::UpdateGroupView;
using scalar::UpdateRule;

// Each works on the elements [begin, end), where `begin` is a multiple of kUpdateChunk.

/// Updates with a step's gradient: one pass over memory.
void update(const UpdateRule& rule, const UpdateGroupView& group, const GradientSum& gradient, const StepParams& params,
            std::int64_t begin, std::int64_t end);

/// Adds a step's gradient to `accumulated`, or stores it there if it is the first, and writes its sums of squares.
void accumulate(const UpdateGroupView& group, const GradientSum& gradient, bool first, std::int64_t begin,
                std::int64_t end);

/// For a rule that scales by norms, between `accumulate` and `update_accumulated` of all elements: decays the weights,
/// replaces the accumulated gradient by each variable's direction, and writes the sums of squares of both.
void measure(const UpdateRule& rule, const UpdateGroupView& group, const StepParams& params, std::int64_t begin,
             std::int64_t end);

/// Updates with the result of `accumulate` or `measure`.
void update_accumulated(const UpdateRule& rule, const UpdateGroupView& group, const StepParams& params,
                        std::int64_t begin, std::int64_t end);

/// Scales the weights of the norms [begin, end), any range of them, to their bound.
void bound_weights(const scalar::WeightBounds& norms, float* weights, std::int64_t begin, std::int64_t end);

/// As StepKernels' of this name.
void normalize_spectrum(const scalar::WeightMatrix& matrix, float* weights, float* vector, double* scratch);

/// to = the sources, added in their order. `to` may be one of the sources.
void sum_sources(std::span<const GradientSource> sources, float* to, std::int64_t begin, std::int64_t end);

/// Rounds gradients for the wire and keeps the rounding errors: scalar::compressed.
void compress(const float* gradient, float* residual, bfloat16* to, std::int64_t count);
void add_compressed(const scalar::CompressedSum& sum);
void add_shards(const scalar::ShardSum& sum);
void expand(const scalar::Expansion& expansion);

/// The regularization sums of the chunks, without an update.
void regularization_sums(const UpdateGroupView& group, std::int64_t begin, std::int64_t end);

}  // namespace mirrortrain::cpu
