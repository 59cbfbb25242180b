#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/dtype.h"
#include "device/device.h"
#include "kernels/scalar/compress.h"
#include "kernels/scalar/update_group.h"
#include "kernels/scalar/weight_bounds.h"
#include "kernels/scalar/weight_spectrum.h"

namespace mirrortrain {

/// A weight [in, out] in a group, `first` its first element there, and the data type of x and dy (see
/// StepKernels::supports_product).
struct ProductWeight {
  std::int64_t first = 0, in = 0, out = 0;
  DType operands = DType::kFloat32;
  /// Derived copies that the update refreshes, of StepKernels::product_forms(); null where there are none.
  std::array<std::byte*, 2> copies{};
};

/// One replica's part of the weight's gradient, x^T dy: x [rows, in], dy [rows, out].
struct ProductSource {
  const std::byte* x = nullptr;
  const std::byte* dy = nullptr;
  std::int64_t rows = 0;
};

/// A weight [rows, width] in a group, `first` its first element there, whose gradient is sparse: it is not 0 only in
/// rows that an embedding looked up.
struct TableWeight {
  std::int64_t first = 0, rows = 0, width = 0;
};

/// A replica's lookups in a table: numbers [count], of rows; dy [count, width], the gradient of what they returned.
struct Lookups {
  const float* numbers = nullptr;
  const std::byte* dy = nullptr;
  DType dtype = DType::kFloat32;  ///< of dy
  std::int64_t count = 0;
};

/// A replica's sparse gradient of a table, all in floats so that it can be exchanged: how many rows it has and its
/// scale in the sum over replicas; the rows' numbers, ascending; their values [count, width].
struct SparseRows {
  float* head = nullptr;  ///< the count, which is below 2^24, and the scale
  float *numbers = nullptr, *values = nullptr;

  std::int64_t count() const { return static_cast<std::int64_t>(head[0]); }
  float scale() const { return head[1]; }
};

/// The maximum number of replicas whose sparse gradients are added.
inline constexpr std::size_t kMostSparseRows = 256;

/// A step's work on a device in addition to its programs: operations on whole groups of variables. Memory and params
/// are in device memory; everything is enqueued. Functions with [begin, end) work on these elements, where `begin` is a
/// multiple of kUpdateChunk.
class StepKernels {
 public:
  using Group = scalar::UpdateGroupView;
  virtual ~StepKernels() = default;

  /// Updates with a step's gradient: one pass over memory. At most `most_sources()` gradients are added.
  virtual void update(Stream& stream, const scalar::UpdateRule& rule, const Group& group,
                      const scalar::GradientSum& gradient, const StepParams* params, std::int64_t begin,
                      std::int64_t end) const = 0;
  virtual int most_sources() const = 0;

  /// The keys of the forms (DerivedForm) in which `update_with_product` can refresh copies of the weight.
  virtual std::span<const std::string_view> product_forms() const { return {}; }
  /// Whether `update_with_product` supports weights with so many outputs, of x and dy in this data type.
  virtual bool supports_product(std::int64_t /*out*/, DType /*operands*/) const { return false; }
  /// Updates the weight's rows [begin, end) with the sum of the sources, in their order, without storing the gradient.
  /// Where there are copies, both are even.
  /// Uses `threads` threads. Throws Error unless supports_product.
  virtual void update_with_product(const scalar::UpdateRule& rule, const Group& group, const ProductWeight& weight,
                                   std::span<const ProductSource> sources, const StepParams& params, int threads,
                                   std::int64_t begin, std::int64_t end) const;
  /// Whether the functions of sparse gradients can be called.
  virtual bool supports_sparse() const { return false; }
  /// to = the gradient of a table from all lookups in it in a replica: the terms of each row in their order, first
  /// those of each of `lookups`, then these sums. `scratch`: a number for each lookup. `row`: room for `width` numbers.
  virtual void sum_lookups(Stream& stream, std::span<const Lookups> lookups, const TableWeight& table, float scale,
                           std::span<std::uint64_t> scratch, std::span<float> row, const SparseRows& to) const;
  /// Updates the table's rows [begin, end) with the scaled sum of the replicas' gradients, in their order. Rows without
  /// a gradient are skipped where the rule would not change them. Uses `threads` threads.
  virtual void update_sparse(Stream& stream, const scalar::UpdateRule& rule, const Group& group,
                             const TableWeight& table, std::span<const SparseRows> gradients, const StepParams& params,
                             int threads, std::int64_t begin, std::int64_t end) const;
  /// to = this sum, with a scale of 1; it has room for all rows of the gradients.
  virtual void merge_sparse(Stream& stream, const TableWeight& table, std::span<const SparseRows> gradients,
                            const SparseRows& to) const;
  /// Stores this sum in the elements [begin, end) of a group's `gradient`, which are 0 elsewhere, or 0 again.
  virtual void store_sparse(Stream& stream, const TableWeight& table, std::span<const SparseRows> gradients, bool zeros,
                            float* gradient, std::int64_t begin, std::int64_t end) const;
  /// Whether `update` and `update_accumulated` refresh a group's `rounded` if it has one.
  virtual bool refreshes_rounded() const = 0;

  /// Adds a step's gradient to `accumulated`, or stores it there if it is the first, and writes its sums of squares.
  virtual void accumulate(Stream& stream, const Group& group, const scalar::GradientSum& gradient, bool first,
                          std::int64_t begin, std::int64_t end) const = 0;

  /// Writes the sums of the regularization terms of the chunks, as `update` and `accumulate` do.
  virtual void sum_regularization(Stream& stream, const Group& group, std::int64_t begin, std::int64_t end) const = 0;

  /// For a rule that scales by norms, between `accumulate` and `update_accumulated` of all elements: decays the
  /// weights, replaces the accumulated gradient by each variable's direction, and writes the sums of squares of both.
  virtual void measure(Stream& stream, const scalar::UpdateRule& rule, const Group& group, const StepParams* params,
                       std::int64_t begin, std::int64_t end) const = 0;

  /// Updates with the result of `accumulate` or `measure`.
  virtual void update_accumulated(Stream& stream, const scalar::UpdateRule& rule, const Group& group,
                                  const StepParams* params, std::int64_t begin, std::int64_t end) const = 0;

  /// Scales the weights of the norms [begin, end) to their bound. `rounded`: their copy as bfloat16, or null.
  virtual void bound_weights(Stream& stream, const scalar::WeightBounds& norms, float* weights, bfloat16* rounded,
                             std::int64_t begin, std::int64_t end) const = 0;

  /// Divides the weights by their largest singular value, estimated by power iteration from `vector`, one number for
  /// each column, which becomes the vector that it ends with. Where the estimate is 0, as of weights that are all 0,
  /// nothing changes. `rounded`: the weights' copy as bfloat16, or null. `scratch`: of WeightMatrix::scratch() numbers.
  virtual void normalize_spectrum(Stream& stream, const scalar::WeightMatrix& matrix, float* weights, bfloat16* rounded,
                                  float* vector, double* scratch) const = 0;

  /// to = the sources, added in their order. `to` may be one of the sources.
  virtual void sum_sources(Stream& stream, std::span<const scalar::GradientSource> sources, float* to,
                           std::int64_t begin, std::int64_t end) const = 0;

  /// Rounds gradients for the wire: scalar::compressed.
  virtual void compress(Stream& stream, const float* gradient, float* residual, bfloat16* to,
                        std::int64_t count) const = 0;
  // These are enqueued on a CPU too, where the stream carries the operations between them; their arguments must remain
  // valid until they are done.
  virtual void add_compressed(Stream& stream, const scalar::CompressedSum& sum) const = 0;
  virtual void add_shards(Stream& stream, const scalar::ShardSum& sum) const = 0;
  virtual void expand(Stream& stream, const scalar::Expansion& expansion) const = 0;

  /// Stores `scale` times the sum of `count` numbers in `total`, or adds it to `total`.
  virtual void sum_numbers(Stream& stream, const double* numbers, std::int64_t count, double scale, bool first,
                           double* total) const = 0;

  /// to = the sum of `rows` rows of `count` numbers, in their order; they begin `stride` numbers apart.
  virtual void sum_rows(Stream& stream, const double* numbers, std::int64_t rows, std::int64_t stride,
                        std::int64_t count, double* to) const = 0;

  /// Sets params->scale to 1 / gradients, or less if the norm of the mean of the `gradients` accumulated gradients,
  /// given the sum of their squares, exceeds `clip_norm`.
  virtual void scale_to_norm(Stream& stream, const double* squares, double clip_norm, std::int64_t gradients,
                             StepParams* params) const = 0;
};

}  // namespace mirrortrain
