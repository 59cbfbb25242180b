#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "data/dataset.h"
#include "data/preprocessing/preprocessing.h"

namespace mirrortrain::data {

/// The rows of an array, with their memory where they are in memory; does not own it.
struct RowSource {
  const std::byte* data = nullptr;
  std::int64_t elements = 0;  ///< of one row
  std::size_t bytes = 0;      ///< of one row
  explicit RowSource(const Array& array)
      : data(array.bytes.data()),
        elements(array.row_elements()),
        bytes(static_cast<std::size_t>(elements) * size_of(array.dtype)) {}
};

/// Copies selected rows of an array, each element converted as (x - shift) * scale + offset. The arithmetic is float32
/// for uint8, bfloat16 and float32 elements unless Affine::needs_double, and double for other types, whose values
/// float32 cannot represent.
class RowConverter {
 public:
  /// `from` must outlive this. `to` is kFloat32 or kBfloat16; `affine` has a period of which the
  /// rows' elements are a multiple.
  RowConverter(const Array& from, const Affine& affine, DType to);

  /// Row r of the result is row first_row + rows[r] of the array, or its first `taken` elements. Does not allocate.
  void operator()(std::int64_t first_row, std::span<const std::int64_t> rows, std::byte* to, std::int64_t taken) const;
  void operator()(std::int64_t first_row, std::span<const std::int64_t> rows, std::byte* to) const {
    (*this)(first_row, rows, to, source_.elements);
  }

  /// Converts a single row stored elsewhere, or its first `taken` elements.
  void convert_row(const std::byte* row, std::byte* to) const { convert_row(row, to, source_.elements); }
  void convert_row(const std::byte* row, std::byte* to, std::int64_t taken) const {
    convert_(row, to, taken, constants_);
  }
  std::size_t row_bytes_to() const { return static_cast<std::size_t>(source_.elements) * to_bytes_; }

  /// Constants of the conversion, repeated to a length suitable for vectorization; one entry if all elements share
  /// them.
  template <class Real>
  struct Constants {
    std::vector<Real> shift, scale, offset;
  };
  struct AllConstants {
    Constants<float> in_float;
    Constants<double> in_double;
    bool identity = false;
  };

 private:
  using Convert = void (*)(const std::byte* from, std::byte* to, std::int64_t elements, const AllConstants&);

  RowSource source_;
  Convert convert_ = nullptr;
  AllConstants constants_;
  std::size_t to_bytes_ = 0;
};

/// Copies the labels of selected rows as int32, as float32, or as float32 one-hot vectors.
class LabelConverter {
 public:
  /// `from` must outlive this. `to` is kInt32 or kFloat32; `one_hot_depth` 0 for none. Labels must be valid: they are
  /// not checked here.
  LabelConverter(const Array& from, DType to, std::int64_t one_hot_depth);

  /// Writes the first `taken` labels of each row.
  void operator()(std::int64_t first_row, std::span<const std::int64_t> rows, std::byte* to, std::int64_t taken) const;
  void operator()(std::int64_t first_row, std::span<const std::int64_t> rows, std::byte* to) const {
    (*this)(first_row, rows, to, source_.elements);
  }

  /// Converts a single row stored elsewhere.
  void convert_row(const std::byte* row, std::byte* to) const { convert_row(row, to, source_.elements); }
  void convert_row(const std::byte* row, std::byte* to, std::int64_t taken) const { convert_(row, to, taken, depth_); }
  std::size_t row_bytes_to() const { return static_cast<std::size_t>(source_.elements) * to_bytes_; }

 private:
  using Convert = void (*)(const std::byte* from, std::byte* to, std::int64_t elements, std::int64_t depth);

  RowSource source_;
  Convert convert_ = nullptr;
  std::int64_t depth_ = 0;
  std::size_t to_bytes_ = 0;  // of one label
};

}  // namespace mirrortrain::data
