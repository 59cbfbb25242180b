#pragma once

#include <cstdint>
#include <span>

#include "device/device.h"
#include "kernels/scalar/compress.h"
#include "kernels/scalar/max_norm.h"
#include "kernels/scalar/update_group.h"

namespace mirrortrain {

/// What a step does on a device beside its programs: work on whole groups of variables. Memory and params are the
/// device's; everything is enqueued. Those that take [begin, end) work on these elements, where `begin` is a multiple
/// of kUpdateChunk.
class StepKernels {
 public:
  using Group = scalar::UpdateGroupView;
  virtual ~StepKernels() = default;

  /// Updates with a step's gradient: one pass over memory. At most `most_sources()` gradients are added.
  virtual void update(Stream& stream, const scalar::UpdateRule& rule, const Group& group,
                      const scalar::GradientSum& gradient, const StepParams* params, std::int64_t begin,
                      std::int64_t end) const = 0;
  virtual int most_sources() const = 0;
  /// Whether `update` and `update_accumulated` refresh a group's `rounded` where it has one.
  virtual bool refreshes_rounded() const = 0;

  /// Adds a step's gradient to `accumulated`, or puts it there where it is the first, and leaves its sums of squares.
  virtual void accumulate(Stream& stream, const Group& group, const scalar::GradientSum& gradient, bool first,
                          std::int64_t begin, std::int64_t end) const = 0;

  /// For a rule that scales by norms, between `accumulate` and `update_accumulated` of all elements: decays the
  /// weights, puts each variable's direction in the place of the accumulated gradient, and leaves the sums of squares
  /// of both.
  virtual void measure(Stream& stream, const scalar::UpdateRule& rule, const Group& group, const StepParams* params,
                       std::int64_t begin, std::int64_t end) const = 0;

  /// Updates with what `accumulate` left, or `measure`.
  virtual void update_accumulated(Stream& stream, const scalar::UpdateRule& rule, const Group& group,
                                  const StepParams* params, std::int64_t begin, std::int64_t end) const = 0;

  /// Scales the weights of the norms [begin, end) to their bound. `rounded`: their copy as bfloat16, or null.
  virtual void bound_norms(Stream& stream, const scalar::MaxNorms& norms, float* weights, bfloat16* rounded,
                           std::int64_t begin, std::int64_t end) const = 0;

  /// to = the sources, added in their order. `to` may be one of the sources.
  virtual void sum_sources(Stream& stream, std::span<const scalar::GradientSource> sources, float* to,
                           std::int64_t begin, std::int64_t end) const = 0;

  /// Rounds gradients for the wire: scalar::compressed.
  virtual void compress(Stream& stream, const float* gradient, float* residual, bfloat16* to,
                        std::int64_t count) const = 0;
  // These are calls of the stream on a CPU too, where it carries the operations between them; what they are given must
  // stay in place until they are done.
  virtual void add_compressed(Stream& stream, const scalar::CompressedSum& sum) const = 0;
  virtual void expand(Stream& stream, const scalar::Expansion& expansion) const = 0;

  /// Puts `scale` times the sum of `count` numbers into `total`, or adds it to what is there.
  virtual void sum_numbers(Stream& stream, const double* numbers, std::int64_t count, double scale, bool first,
                           double* total) const = 0;

  /// to = the sum of `rows` rows of `count` numbers, in their order; they begin `stride` numbers apart.
  virtual void sum_rows(Stream& stream, const double* numbers, std::int64_t rows, std::int64_t stride,
                        std::int64_t count, double* to) const = 0;

  /// Sets params->scale to 1 / gradients, or to less where the norm of the mean of so many accumulated gradients,
  /// given the sum of their squares, is larger than `clip_norm`.
  virtual void scale_to_norm(Stream& stream, const double* squares, double clip_norm, std::int64_t gradients,
                             StepParams* params) const = 0;
};

}  // namespace mirrortrain
