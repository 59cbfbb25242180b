#include "data/records/record_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "config/scalar.h"
#include "data/files/file_stamps.h"
#include "data/records/tfrecord.h"

namespace mirrortrain::data {
namespace {

using Kind = ExampleFeature::Kind;

const char* text_of(Kind kind) {
  switch (kind) {
    case Kind::kBytes: return "bytes";
    case Kind::kFloats: return "floats";
    case Kind::kIntegers: return "integers";
    case Kind::kNothing: break;
  }
  return "nothing";
}

ExampleFeature require_feature(Record record, const std::string& name, std::string_view key) {
  const ExampleFeature found = find_feature(record, name);
  if (found.kind != Kind::kNothing) return found;
  const std::vector<std::string> names = feature_names(record);
  const bool is_by_name = key == fmt::format("inputs.{}", name);
  throw Error(fmt::format("has no feature '{}', but [{}]{}; {}", shortened(name),
                          shortened(fmt::format("{}", fmt::join(names, ", ")), 200),
                          config::suggestion(name, config::with_aliases(names, config::names_of_keys<TfRecord>())),
                          is_by_name ? "an input of numbers has the feature of its name"
                                     : fmt::format("say in '{}' which one to take", key)));
}

}  // namespace

RecordColumn::RecordColumn(std::string name, std::string key, std::optional<Shape> shape, std::optional<DType> dtype)
    : name_(std::move(name)), key_(std::move(key)), given_shape_(std::move(shape)), given_(dtype) {
  shape_ = given_shape_;
}

void RecordColumn::add(Record record) {
  const ExampleFeature feature = require_feature(record, name_, key_);
  if (kind_ == Kind::kNothing) begin(feature.kind);
  if (feature.kind != kind_) {
    throw Error(fmt::format("has {} as '{}', expected {} as in the first record", text_of(feature.kind), name_,
                            text_of(kind_)));
  }
  switch (kind_) {
    case Kind::kFloats:
      floats_.clear();
      add_floats(feature, floats_);
      return append(std::as_bytes(std::span(floats_)), "numbers");
    case Kind::kIntegers:
      integers_.clear();
      add_integers(feature, integers_);
      return append(std::as_bytes(std::span(integers_)), "numbers");
    default: return add_raw(feature);
  }
}

void RecordColumn::cut(std::int64_t records) {
  if (kind_ == Kind::kNothing) return;
  if (records == 0) {  // the others' properties are unknown, too
    kind_ = Kind::kNothing;
    shape_ = given_shape_;
    used_ = 0;
  } else {
    used_ = static_cast<std::size_t>(records * shape_->elements()) * size_of(dtype_);
  }
}

RecordColumn RecordColumn::of_no_records() const {
  RecordColumn same(name_, key_, shape_, given_);
  same.kind_ = kind_;
  same.dtype_ = dtype_;
  return same;
}

void RecordColumn::read_row(Record record, std::byte* to) {
  used_ = 0;
  add(record);
  std::copy_n(bytes_.data(), used_, to);
  used_ = 0;
}

void RecordColumn::expect(std::int64_t records) {
  if (kind_ == Kind::kNothing) return;
  const std::size_t wanted = static_cast<std::size_t>(records * shape_->elements()) * size_of(dtype_);
  try {
    if (wanted > bytes_.size()) grow(wanted);
  } catch (const Error&) {  // the others may be larger, so that there are fewer
  }
}

void RecordColumn::grow(std::size_t size) {
  Bytes larger(size, name_);
  std::copy_n(bytes_.data(), used_, larger.data());
  bytes_ = std::move(larger);
}

void RecordColumn::begin(Kind kind) {
  kind_ = kind;
  if (kind == Kind::kBytes && !shape_) {
    throw Error(fmt::format("has bytes as '{}', expected numbers as labels; write the number of the class", name_));
  }
  dtype_ = kind == Kind::kFloats     ? DType::kFloat32
           : kind == Kind::kIntegers ? DType::kInt64
                                     : given_.value_or(DType::kUint8);
  if (given_ && *given_ != dtype_) {
    throw Error(fmt::format("has {} as '{}', which are {}, expected {}; remove the dtype, which is that of raw bytes",
                            text_of(kind), name_, name_of(dtype_), name_of(*given_)));
  }
}

void RecordColumn::add_raw(const ExampleFeature& feature) {
  values_.clear();
  add_bytes(feature, values_);
  if (values_.size() != 1) {
    throw Error(fmt::format("has {} byte strings as '{}', expected one with all numbers", values_.size(), name_));
  }
  append(values_.front(), "bytes' numbers");
}

void RecordColumn::append(std::span<const std::byte> values, const char* what) {
  const std::size_t count = values.size() / size_of(dtype_);
  if (!shape_) shape_ = count == 1 ? Shape{} : Shape{static_cast<std::int64_t>(count)};
  const auto expected = static_cast<std::size_t>(shape_->elements());
  if (values.size() != expected * size_of(dtype_)) {
    throw Error(fmt::format("has {} {} as '{}' of type {}, expected {} for the shape {}", count, what, name_,
                            name_of(dtype_), expected, shape_->text()));
  }
  if (used_ + values.size() > bytes_.size()) grow(std::max(used_ + values.size(), 2 * bytes_.size()));
  std::copy(values.begin(), values.end(), bytes_.data() + used_);
  used_ += values.size();
}

void RecordPictures::begin_file(const std::string& path, bool is_compressed,
                                std::shared_ptr<const UnpackedFile> unpacked) {
  is_compressed_ = is_compressed && !unpacked;
  files_.begin(path, std::move(unpacked), rows());
}

void RecordPictures::add(Record record, std::int64_t number, std::uint64_t record_offset) {
  const ExampleFeature feature = require_feature(record, name_, key_);
  std::vector<Record> values;
  if (feature.kind == Kind::kBytes) add_bytes(feature, values);
  if (values.size() != 1) {
    throw Error(fmt::format("has {} {} as '{}', expected one encoded picture",
                            feature.kind == Kind::kBytes ? std::to_string(values.size()) : "no",
                            feature.kind == Kind::kBytes ? "byte strings" : "bytes", name_));
  }
  const Record picture = values.front();
  const auto offset = record_offset + static_cast<std::uint64_t>(picture.data() - record.data());
  if (picture.size() > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(fmt::format("has {} bytes as '{}', which is no picture", picture.size(), name_));
  }
  if (!has_numbers_ && number != rows() - files_.last().first_row) {
    for (std::int64_t row = 0; row < rows(); ++row) numbers_.push_back(row - files_.of(row).first_row);
    has_numbers_ = true;
  }
  if (has_numbers_) numbers_.push_back(number);
  offsets_.push_back(offset);
  sizes_.push_back(static_cast<std::uint32_t>(picture.size()));
  if (is_compressed_) bytes_.resize(offsets_.size());
  if (is_compressed_) bytes_.back().assign(picture.begin(), picture.end());
}

void RecordPictures::cut(std::int64_t records) {
  const auto count = static_cast<std::size_t>(records);
  offsets_.resize(std::min(offsets_.size(), count));
  sizes_.resize(offsets_.size());
  if (has_numbers_) numbers_.resize(offsets_.size());
  bytes_.resize(std::min(bytes_.size(), count));
}

void RecordPictures::read(std::int64_t row, std::vector<std::byte>& to) const {
  const auto at = static_cast<std::size_t>(row);
  to.resize(sizes_[at]);
  if (at < bytes_.size() && !bytes_[at].empty()) {
    std::ranges::copy(bytes_[at], to.data());
  } else {
    files_.of(row).bytes->read(offsets_[at], to);
  }
}

void RecordPictures::will_read(std::int64_t row) const {
  const auto at = static_cast<std::size_t>(row);
  if (at >= bytes_.size() || bytes_[at].empty()) files_.of(row).bytes->will_read(offsets_[at], sizes_[at]);
}

std::string RecordPictures::row_text(std::int64_t row) const {
  const RowFiles::File& file = files_.of(row);
  return fmt::format("{}: record {} (counting from 0)", file.path,
                     has_numbers_ ? numbers_[static_cast<std::size_t>(row)] : row - file.first_row);
}

std::string RecordPictures::identity() const { return fmt::format("{} {} {}", files_.identity(), rows(), name_); }

Array array_of(RecordColumn& column, std::int64_t rows, const std::vector<Array::Part>& parts) {
  std::vector<std::int64_t> dims = column.shape().dims();
  dims.insert(dims.begin(), rows);
  Array array;
  array.dtype = column.dtype();
  array.shape = Shape(std::move(dims));
  array.bytes = column.take();
  array.origin = parts.front().origin;
  if (parts.size() > 1) array.parts = parts;
  return array;
}

Array side_by_side(const std::vector<RecordColumn>& columns, std::int64_t rows, const std::vector<Array::Part>& parts) {
  std::int64_t width = 0;
  for (const RecordColumn& column : columns) width += column.shape().elements();
  Array array(DType::kFloat32, {rows, width}, parts.front().origin);
  float* const all = array.span<float>().data();
  std::int64_t first = 0;
  for (const RecordColumn& column : columns) {
    const std::int64_t own = column.shape().elements();
    with_element_type(column.dtype(), [&](auto* type) {
      using T = std::remove_pointer_t<decltype(type)>;
      for (std::int64_t i = 0; i < rows * own; ++i) {
        T value;
        std::memcpy(&value, column.bytes().data() + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
        all[i / own * width + first + i % own] = static_cast<float>(value);
      }
    });
    first += own;
  }
  if (parts.size() > 1) array.parts = parts;
  return array;
}

}  // namespace mirrortrain::data
