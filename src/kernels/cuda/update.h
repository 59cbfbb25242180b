#pragma once

#include <cstdint>
#include <span>

#include "device/device.h"
#include "kernels/scalar/compress.h"
#include "kernels/scalar/max_norm.h"
#include "kernels/scalar/update_group.h"

namespace mirrortrain::cuda {

/// More gradients than these are not added in one update.
inline constexpr int kMaxSources = 64;

// As the CPU's, in one launch each: they work on the elements [begin, end), where `begin` is a multiple of
// kUpdateChunk, and read `params` on the device, so that a captured step can be replayed. They throw Error where there
// are more sources than kMaxSources. Every pointer of a group, and what its `regularized` spans, is the device's;
// memory that is walked along (master, slots, accumulated, rounded and the sources) is aligned to 16 bytes. The
// segments are in ascending order and apart.

/// Updates with a step's gradient: one pass over memory.
void update(Stream& stream, const scalar::UpdateRule& rule, const scalar::UpdateGroupView& group,
            const scalar::GradientSum& gradient, const StepParams* params, std::int64_t begin, std::int64_t end);

/// Adds a step's gradient to `accumulated`, or puts it there where it is the first, and leaves its sums of squares.
void accumulate(Stream& stream, const scalar::UpdateGroupView& group, const scalar::GradientSum& gradient, bool first,
                std::int64_t begin, std::int64_t end);

/// For a rule that scales by norms, between `accumulate` and `update_accumulated` of the whole group: decays the
/// weights, puts each variable's direction in the place of the accumulated gradient, and leaves the ratio of their
/// norms. In two launches.
void measure(Stream& stream, const scalar::UpdateRule& rule, const scalar::UpdateGroupView& group,
             const StepParams* params, std::int64_t begin, std::int64_t end);

/// Updates with what `accumulate` left, or `measure`.
void update_accumulated(Stream& stream, const scalar::UpdateRule& rule, const scalar::UpdateGroupView& group,
                        const StepParams* params, std::int64_t begin, std::int64_t end);

/// Scales the weights of the norms [begin, end) to their bound. `rounded`: their copy as bfloat16, or null.
void bound_norms(Stream& stream, const scalar::MaxNorms& norms, float* weights, bfloat16* rounded, std::int64_t begin,
                 std::int64_t end);

/// to = the sources, added in their order: what a device gives to the others where several share its replicas. `to` may
/// be one of the sources.
void sum_sources(Stream& stream, std::span<const scalar::GradientSource> sources, float* to, std::int64_t begin,
                 std::int64_t end);

/// Rounds gradients for the wire, and keeps what that leaves: scalar::compressed.
void compress(Stream& stream, const float* gradient, float* residual, bfloat16* to, std::int64_t count);
void add_compressed(Stream& stream, const scalar::CompressedSum& sum);
void expand(Stream& stream, const scalar::Expansion& expansion);

/// Puts `scale` times the sum of `count` numbers into `total`, or adds it to what is there.
void sum_numbers(Stream& stream, const double* numbers, std::int64_t count, double scale, bool first, double* total);

/// to = the sum of `rows` rows of `count` numbers, in their order; they begin `stride` numbers apart.
void sum_rows(Stream& stream, const double* numbers, std::int64_t rows, std::int64_t stride, std::int64_t count,
              double* to);

/// Sets params->scale to 1 / gradients, or to less where the norm of the mean of so many accumulated gradients, given
/// the sum of their squares, is larger than `clip_norm`.
void scale_to_norm(Stream& stream, const double* squares, double clip_norm, std::int64_t gradients, StepParams* params);

}  // namespace mirrortrain::cuda
