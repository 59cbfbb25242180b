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
#include "data/stored_rows.h"

namespace mirrortrain::data {

/// Memory for a file's contents: not initialized, so that memory that is never written costs nothing. Movable, not
/// copyable, but several may share it.
class Bytes {
 public:
  Bytes() = default;
  Bytes(Bytes&&) = default;
  Bytes& operator=(Bytes&&) = default;
  /// Throws Error, naming the size and `what` it is for, if there is not enough memory.
  Bytes(std::size_t size, const std::string& what);

  std::byte* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  /// The same memory, which lives as long as any that share it.
  Bytes shared() const;

 private:
  std::shared_ptr<std::byte> data_;
  std::size_t size_ = 0;
};

/// Features or labels as read: one row per example, in the type of their file (bool is uint8, integer types missing in
/// DType are the next wider one, half precision is float32).
struct Array {
  DType dtype = DType::kFloat32;
  Shape shape;  ///< rows first; never a scalar
  Bytes bytes;  ///< of the elements; none where they are read by position
  /// Reads the rows where they are not in memory; else null.
  std::shared_ptr<const StoredRows> stored{};
  /// The name in messages: a file, an array of a file ("a.npz: x"), or the configuration's key.
  std::string origin;
  /// The text line of row 0 if each row is one line, else 0.
  std::int64_t first_line = 0;
  /// One of several files whose rows are concatenated here.
  struct Part {
    std::int64_t first_row = 0;  ///< of this array
    std::string origin;
    std::int64_t first_line = 0;
  };
  std::vector<Part> parts;  ///< empty if all rows are from `origin`
  /// If rows were selected from those of the files: their numbers there.
  std::vector<std::int64_t> picked;
  /// How many different tokens of texts its numbers may be; 0 if they are none.
  std::int64_t tokens = 0;
  /// Remarks for the user on how it was read, such as skipped files; each a sentence without a place.
  std::vector<std::string> remarks;

  Array() = default;
  /// Allocates all elements, not initialized. Throws Error if there is not enough memory.
  Array(DType dtype, Shape shape, std::string origin);

  /// All of it but its elements and the numbers of its rows.
  Array without_elements() const;
  /// The same elements, in the same memory.
  Array shared() const;
  /// Other elements for the same rows, read by position: they have the names and places of these.
  Array read_by(std::shared_ptr<const StoredRows> rows, DType type, const Shape& row_shape) const;
  /// New elements for the same rows, which have their names and places.
  Array of_same_rows(DType type, const Shape& row_shape) const;

  std::int64_t rows() const { return shape[0]; }
  /// The shape of one example.
  Shape row_shape() const;
  std::int64_t row_elements() const { return row_shape().elements(); }
  std::size_t row_bytes() const { return static_cast<std::size_t>(row_elements()) * size_of(dtype); }
  /// Whether rows are read when they are needed, by their numbers, and not held.
  bool is_by_position() const { return stored != nullptr; }
  /// The bytes of so many rows from `first` on: where they are in memory, or read into `scratch`.
  const std::byte* rows_at(std::int64_t first, std::int64_t count, std::vector<std::byte>& scratch) const;
  /// A row's number in the files, with those that were not selected.
  std::int64_t row_in_files(std::int64_t row) const {
    return picked.empty() ? row : picked[static_cast<std::size_t>(row)];
  }
  /// "images.gz: row 17 (counting from 0)", in its own file, with the line if known.
  std::string row_text(std::int64_t row) const;

  /// The elements, which must be in memory, as T, the type of `dtype`.
  template <class T>
  std::span<T> span() const {
    if (is_by_position()) refuse_span();
    return {reinterpret_cast<T*>(bytes.data()), static_cast<std::size_t>(shape.elements())};
  }

 private:
  [[noreturn]] void refuse_span() const;
};

/// The bytes of elements of `shape`. Throws Error, naming `what`, for negative extents and sizes beyond 2^62.
std::size_t checked_bytes(const Shape& shape, std::size_t element_bytes, const std::string& what);

/// Converts float64 elements to float32 if that is exact for all, else returns them unchanged.
Array narrowed(Array array);

/// Whether two shapes have the same elements in the same order: equal except for extents of one.
bool same_but_ones(const Shape& a, const Shape& b);

/// The first row, from row `from` on, with a NaN, an infinity or a number too large for float32; -1: none.
std::int64_t find_not_finite(const Array& array, std::int64_t from = 0);
/// The error for such a row, which it names.
std::string not_finite_text(const Array& array, std::int64_t row);
/// Throws Error if there is such a row.
void require_finite(const Array& array);

/// Calls `body` with a null pointer of the element type of `dtype`.
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

/// The examples' part for an input of the model.
struct Features {
  std::string name;  ///< of the input; empty where the source does not name inputs
  Array array;
  /// If they are computed on demand: `array` has their type and shape, but no elements.
  std::shared_ptr<const ExampleSource> source{};
};

/// The examples' part for an output of the model.
struct Labels {
  std::string name;  ///< of the output; empty where the source does not name outputs
  Array array;
  std::optional<Array> weights{};  ///< float64 [rows]: weight of each example's loss
  std::optional<Array> present{};  ///< uint8 [rows]: 0 for an example without a label, whose numbers are then 0;
                                   ///< absent: all have one
  bool is_nan_missing = false;     ///< whether `present` is not known yet: examples whose label is NaN have none

  bool is_present(std::int64_t row) const {
    return !present || present->span<std::uint8_t>()[static_cast<std::size_t>(row)] != 0;
  }
};

/// A reader's result: arrays of the same length, with at least one input and one output.
struct Examples {
  std::vector<Features> inputs;
  std::vector<Labels> outputs;
  std::shared_ptr<const LeftOut> left_out{};  ///< null if none were left out

  std::int64_t rows() const { return outputs.front().array.rows(); }
};

/// Examples of one input and one output.
Examples examples_of(Array features, Array labels);

/// Loads rows that are read by position into memory; does nothing for others. Throws Error if they cannot be read, or
/// if there is not enough memory.
void load_rows(Array& array);
/// All that are read by position.
Examples in_memory(Examples examples);

/// Keeps only these rows (ascending), in place.
void keep_rows(Array& array, const std::vector<std::int64_t>& rows);
void keep_rows(Labels& labels, const std::vector<std::int64_t>& rows);
void keep_rows(Examples& examples, const std::vector<std::int64_t>& rows);

/// Examples in memory or in files, or a range of them: views share the arrays.
class Dataset {
 public:
  /// Throws Error if the arrays differ in length, if there are no examples, or if features or labels are not finite.
  explicit Dataset(Examples examples);

  std::int64_t rows() const { return rows_; }
  /// Rows first .. first + rows - 1 of this data set, without copying.
  Dataset view(std::int64_t first, std::int64_t rows) const;

  /// These rows of this data set, copied.
  Dataset select(const std::vector<std::int64_t>& rows) const;

  /// The same examples with other features for an input, in arrays of as many rows; all else is shared.
  Dataset with_features(std::size_t input, Array features) const;

  /// Its inputs and outputs, in the order of the model's. Their arrays are whole: row r of this data set is their row
  /// first_row() + r.
  const std::vector<Features>& inputs() const { return examples_->inputs; }
  const std::vector<Labels>& outputs() const { return examples_->outputs; }
  const Array& features(std::size_t input) const { return examples_->inputs[input].array; }
  const Array& labels(std::size_t output) const { return examples_->outputs[output].array; }
  /// Null if the input's features are in memory.
  const ExampleSource* source(std::size_t input) const { return examples_->inputs[input].source.get(); }
  std::int64_t first_row() const { return first_row_; }
  /// Remarks for the user on how features and labels were read, without duplicates.
  std::vector<std::string> remarks() const;
  /// The examples left out of the data that this is all or a part of; null if none.
  const LeftOut* left_out() const { return examples_->left_out.get(); }

 private:
  enum class Numbers : bool { kUnchecked, kChecked };
  Dataset(Examples examples, Numbers numbers);

  std::shared_ptr<const Examples> examples_;
  std::int64_t first_row_ = 0, rows_ = 0;
};

}  // namespace mirrortrain::data
