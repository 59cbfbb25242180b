#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/shape.h"
#include "data/bad_examples.h"
#include "data/example_source.h"

namespace mirrortrain::data {

/// Memory for the content of a file: not initialized, so that what is never written costs nothing. Movable, not
/// copyable.
class Bytes {
 public:
  Bytes() = default;
  /// Throws Error, naming `what` wants it and how much, where there is not enough memory.
  Bytes(std::size_t size, const std::string& what);

  std::byte* data() const { return data_.get(); }
  std::size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t size_ = 0;
};

/// Features or labels as they were read: one row per example, in the type of their file (bool is uint8, the integers
/// that DType lacks are the next wider one, half precision is float32).
struct Array {
  DType dtype = DType::kFloat32;
  Shape shape;  ///< rows first; never a scalar
  Bytes bytes;
  /// What messages call it: a file, an array of a file ("a.npz: x"), or the configuration's key.
  std::string origin;
  /// The text line of row 0 where each row is one line, else 0.
  std::int64_t first_line = 0;
  /// A file among several whose rows follow each other here.
  struct Part {
    std::int64_t first_row = 0;  ///< of this array
    std::string origin;
    std::int64_t first_line = 0;
  };
  std::vector<Part> parts;  ///< empty where all rows are of `origin`
  /// Where rows were picked from those of the files: which each was there.
  std::vector<std::int64_t> picked;
  /// What its user should know of how it was read, as files that were passed over; each a sentence without a place.
  std::vector<std::string> remarks;

  Array() = default;
  /// Room for all elements, not initialized. Throws Error where there is not enough memory.
  Array(DType dtype, Shape shape, std::string origin);

  std::int64_t rows() const { return shape[0]; }
  /// The shape of one example.
  Shape row_shape() const;
  std::int64_t row_elements() const { return row_shape().elements(); }
  /// "images.gz: row 17 (counting from 0)", of its own file, with the line where it is known.
  std::string row_text(std::int64_t row) const;

  /// The elements as T, which must be the type that `dtype` names.
  template <class T>
  std::span<T> span() const {
    return {reinterpret_cast<T*>(bytes.data()), static_cast<std::size_t>(shape.elements())};
  }
};

/// The bytes of elements of `shape`. Throws Error, naming `what`, for negative extents and sizes beyond 2^62.
std::size_t checked_bytes(const Shape& shape, std::size_t element_bytes, const std::string& what);

/// Float64 elements as float32 where that loses nothing of any, else as they are.
Array narrowed(Array array);

/// Whether two shapes hold the same elements in the same places: equal but for extents of one.
bool same_but_ones(const Shape& a, const Shape& b);

/// The first row, from row `from` on, with a NaN, an infinity or a number too large for float32; -1: none.
std::int64_t find_not_finite(const Array& array, std::int64_t from = 0);
/// What to report of such a row, which it names.
std::string not_finite_text(const Array& array, std::int64_t row);
/// Throws Error where there is one.
void require_finite(const Array& array);

/// Calls `body` with a null pointer to the element type that `dtype` names.
template <class Body>
decltype(auto) with_element_type(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::kUint8: return body(static_cast<std::uint8_t*>(nullptr));
    case DType::kInt32: return body(static_cast<std::int32_t*>(nullptr));
    case DType::kInt64: return body(static_cast<std::int64_t*>(nullptr));
    case DType::kBfloat16: return body(static_cast<bfloat16*>(nullptr));
    case DType::kFloat64: return body(static_cast<double*>(nullptr));
    default: return body(static_cast<float*>(nullptr));
  }
}

/// What a reader gives: arrays of the same length.
struct Examples {
  Array features, labels;
  std::optional<Array> weights{};  ///< float64 [rows]: how much each example's loss counts
  /// Where features are made when they are asked for: `features` says their type and shape and holds none.
  std::shared_ptr<const ExampleSource> source{};
  std::shared_ptr<const LeftOut> left_out{};  ///< null where the data set is whole
};

/// Keeps these rows (ascending) and no others, in place.
void keep_rows(Array& array, const std::vector<std::int64_t>& rows);
void keep_rows(Examples& examples, const std::vector<std::int64_t>& rows);

/// Examples in memory, or a range of them: views share the arrays.
class Dataset {
 public:
  /// Throws Error where features and labels differ in length, where there is none, and for features that are not
  /// finite.
  explicit Dataset(Examples examples);

  std::int64_t rows() const { return rows_; }
  /// Rows first .. first + rows - 1 of this one. No copy.
  Dataset view(std::int64_t first, std::int64_t rows) const;

  /// These rows of this one, copied.
  Dataset select(const std::vector<std::int64_t>& rows) const;

  /// The whole arrays: row r of this data set is their row first_row() + r.
  const Array& features() const { return examples_->features; }
  const Array& labels() const { return examples_->labels; }
  /// Null where all features are in memory.
  const ExampleSource* source() const { return examples_->source.get(); }
  /// Null where every example counts the same.
  const Array* weights() const { return examples_->weights ? &*examples_->weights : nullptr; }
  std::int64_t first_row() const { return first_row_; }
  /// What its user should know of how features and labels were read, each remark once.
  std::vector<std::string> remarks() const;
  /// What was left out when the data was read of which this is all or a part; null where that was nothing.
  const LeftOut* left_out() const { return examples_->left_out.get(); }

 private:
  std::shared_ptr<const Examples> examples_;
  std::int64_t first_row_ = 0, rows_ = 0;
};

}  // namespace mirrortrain::data
