#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/files/unpacked_files.h"
#include "data/pictures/decoded_pictures.h"
#include "data/records/row_files.h"
#include "data/records/tf_example.h"

namespace mirrortrain::data {

using Record = std::span<const std::byte>;

/// A feature of all records, in the order of the records.
class RecordColumn {
 public:
  /// `key`: the configuration's, in messages. `shape`: null for that of the first record, a scalar if it has one value.
  /// `dtype`: null for the values' own.
  RecordColumn(std::string name, std::string key, std::optional<Shape> shape, std::optional<DType> dtype);

  /// Throws Error, without the record's place, for a feature that is missing or of another kind or shape.
  void add(Record record);

  const Shape& shape() const { return *shape_; }
  DType dtype() const { return dtype_; }
  std::size_t row_bytes() const { return shape_ ? static_cast<std::size_t>(shape_->elements()) * size_of(dtype_) : 0; }
  std::span<const std::byte> bytes() const { return {bytes_.data(), used_}; }
  /// Moves the memory out.
  Bytes take() { return std::move(bytes_); }

  /// Removes what was added after this many records.
  void cut(std::int64_t records);

  // Where records are read one by one, and their numbers not kept:

  /// A column of the same name, kind and shape.
  RecordColumn of_no_records() const;
  /// Forgets all numbers, but not their kind and shape.
  void forget() { used_ = 0; }
  /// Writes a record's numbers, which are not kept. Throws as `add` does.
  void read_row(Record record, std::byte* to);
  const std::string& name() const { return name_; }

  /// Allocates memory for this many records in total, if their size is known.
  void expect(std::int64_t records);

 private:
  using Kind = ExampleFeature::Kind;
  void grow(std::size_t size);
  void begin(Kind kind);
  void add_raw(const ExampleFeature& feature);
  void append(std::span<const std::byte> values, const char* what);

  std::string name_, key_;
  std::optional<Shape> given_shape_, shape_;
  std::optional<DType> given_;
  Kind kind_ = Kind::kNothing;
  DType dtype_ = DType::kFloat32;
  Bytes bytes_;
  std::size_t used_ = 0;
  std::vector<float> floats_;
  std::vector<std::int64_t> integers_;
  std::vector<Record> values_;
};

/// Rows of a column; each of the parts is a file.
Array array_of(RecordColumn& column, std::int64_t rows, const std::vector<Array::Part>& parts);
/// Concatenates several columns' numbers in each row, as float32.
Array side_by_side(const std::vector<RecordColumn>& columns, std::int64_t rows, const std::vector<Array::Part>& parts);

/// Pictures in records: their locations in plain files, or the pictures themselves from compressed ones.
class RecordPictures : public EncodedPictures {
 public:
  /// `name`: of the feature. `key`: the configuration's, in messages.
  RecordPictures(std::string name, std::string key) : name_(std::move(name)), key_(std::move(key)) {}

  /// `unpacked`: a compressed file's bytes, from which pictures are read; null where they are kept in memory.
  void begin_file(const std::string& path, bool is_compressed, std::shared_ptr<const UnpackedFile> unpacked = nullptr);
  /// Throws Error, without the record's place, if it has no picture.
  void add(Record record, std::int64_t number, std::uint64_t record_offset);
  /// Removes what was added after this many records.
  void cut(std::int64_t records);

  std::int64_t rows() const override { return std::ssize(offsets_); }
  void read(std::int64_t row, std::vector<std::byte>& to) const override;
  void will_read(std::int64_t row) const override;
  std::uint64_t stored_bytes(std::int64_t row) const override { return sizes_[static_cast<std::size_t>(row)]; }
  std::string row_text(std::int64_t row) const override;
  std::string identity() const override;

 private:
  std::string name_, key_;
  RowFiles files_;
  // Of each picture, 12 bytes.
  std::vector<std::uint64_t> offsets_;
  std::vector<std::uint32_t> sizes_;
  std::vector<std::int64_t> numbers_;          ///< of the records in their files; none if no record was left out
  std::vector<std::vector<std::byte>> bytes_;  ///< of pictures in compressed files that are not unpacked
  bool is_compressed_ = false, has_numbers_ = false;
};

}  // namespace mirrortrain::data
