#pragma once

#include <cstdint>
#include <span>

#include "device/device.h"
#include "kernels/scalar/compress.h"
#include "kernels/scalar/update_group.h"
#include "kernels/scalar/weight_bounds.h"
#include "kernels/scalar/weight_spectrum.h"

namespace mirrortrain::cuda {

/// The maximum number of gradients added in one update.
inline constexpr int kMaxSources = 64;

// As the CPU's, in one launch each: they work on the elements [begin, end), where `begin` is a multiple of
// kUpdateChunk, and read `params` on the device, so that a captured step can be replayed. They throw Error if there are
// more sources than kMaxSources. Every pointer of a group, and the memory of its `regularized`, is device memory;
// arrays of elements (master, slots, accumulated, rounded and the sources) are aligned to 16 bytes. The segments are in
// ascending order and do not overlap.

/// Updates with a step's gradient: one pass over memory.
void update(Stream& stream, const scalar::UpdateRule& rule, const scalar::UpdateGroupView& group,
            const scalar::GradientSum& gradient, const StepParams* params, std::int64_t begin, std::int64_t end);

/// Adds a step's gradient to `accumulated`, or stores it there if it is the first, and writes its sums of squares.
void accumulate(Stream& stream, const scalar::UpdateGroupView& group, const scalar::GradientSum& gradient, bool first,
                std::int64_t begin, std::int64_t end);

/// Writes the sums of the regularization terms of the chunks.
void sum_regularization(Stream& stream, const scalar::UpdateGroupView& group, std::int64_t begin, std::int64_t end);

/// For a rule that scales by norms, between `accumulate` and `update_accumulated` of the whole group: decays the
/// weights, replaces the accumulated gradient by each variable's direction, and writes the ratio of their norms. In two
/// launches.
void measure(Stream& stream, const scalar::UpdateRule& rule, const scalar::UpdateGroupView& group,
             const StepParams* params, std::int64_t begin, std::int64_t end);

/// Updates with the result of `accumulate` or `measure`.
void update_accumulated(Stream& stream, const scalar::UpdateRule& rule, const scalar::UpdateGroupView& group,
                        const StepParams* params, std::int64_t begin, std::int64_t end);

/// Scales the weights of the norms [begin, end) to their bound. `rounded`: their copy as bfloat16, or null.
void bound_weights(Stream& stream, const scalar::WeightBounds& norms, float* weights, bfloat16* rounded,
                   std::int64_t begin, std::int64_t end);

/// As StepKernels' of this name.
void normalize_spectrum(Stream& stream, const scalar::WeightMatrix& matrix, float* weights, bfloat16* rounded,
                        float* vector, double* scratch);

/// As CopyKernels' of this name.
void combine_copies(Stream& stream, const float* from, int copies, std::int64_t stride, bool mean, float* to,
                    std::int64_t count);

/// to = the sources, added in their order: a device's contribution if it has several replicas. `to` may be one of the
/// sources.
void sum_sources(Stream& stream, std::span<const scalar::GradientSource> sources, float* to, std::int64_t begin,
                 std::int64_t end);

/// Rounds gradients for the wire and keeps the rounding errors: scalar::compressed.
void compress(Stream& stream, const float* gradient, float* residual, bfloat16* to, std::int64_t count);
void add_compressed(Stream& stream, const scalar::CompressedSum& sum);
void add_shards(Stream& stream, const scalar::ShardSum& sum);
void expand(Stream& stream, const scalar::Expansion& expansion);

/// Stores `scale` times the sum of `count` numbers in `total`, or adds it to `total`.
void sum_numbers(Stream& stream, const double* numbers, std::int64_t count, double scale, bool first, double* total);

/// to = the sum of `rows` rows of `count` numbers, in their order; they begin `stride` numbers apart.
void sum_rows(Stream& stream, const double* numbers, std::int64_t rows, std::int64_t stride, std::int64_t count,
              double* to);

/// Sets params->scale to 1 / gradients, or less if the norm of the mean of the `gradients` accumulated gradients, given
/// the sum of their squares, exceeds `clip_norm`.
void scale_to_norm(Stream& stream, const double* squares, double clip_norm, std::int64_t gradients, StepParams* params);

}  // namespace mirrortrain::cuda
