#include "data/records/tfrecord.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "base/error.h"
#include "config/scalar.h"
#include "data/files/file_stamps.h"
#include "data/records/records.h"
#include "data/records/tf_example.h"

namespace mirrortrain::data {
namespace {

using Kind = ExampleFeature::Kind;
using Record = std::span<const std::byte>;

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
  throw Error(fmt::format("has no feature '{}', but [{}]{}; say in '{}' which one to take", shortened(name),
                          shortened(fmt::format("{}", fmt::join(names, ", ")), 200), config::suggestion(name, names),
                          key));
}

/// A feature of all records, in the order of the records.
class Column {
 public:
  /// `shape`: null for that of the first record, a scalar if it has one value.
  Column(std::string name, std::string key, std::optional<Shape> shape, std::optional<DType> dtype)
      : name_(std::move(name)), key_(std::move(key)), given_shape_(std::move(shape)), given_(dtype) {
    shape_ = given_shape_;
  }

  void add(Record record) {
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

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return *shape_; }
  std::span<const std::byte> bytes() const { return {bytes_.data(), used_}; }
  /// Moves the memory out.
  Bytes take() { return std::move(bytes_); }

  /// Removes what was added after this many records.
  void cut(std::int64_t records) {
    if (kind_ == Kind::kNothing) return;
    if (records == 0) {  // the others' properties are unknown, too
      kind_ = Kind::kNothing;
      shape_ = given_shape_;
      used_ = 0;
    } else {
      used_ = static_cast<std::size_t>(records * shape_->elements()) * size_of(dtype_);
    }
  }

  /// Allocates memory for this many records in total, if their size is known.
  void expect(std::int64_t records) {
    if (kind_ == Kind::kNothing) return;
    const std::size_t wanted = static_cast<std::size_t>(records * shape_->elements()) * size_of(dtype_);
    try {
      if (wanted > bytes_.size()) grow(wanted);
    } catch (const Error&) {  // the others may be larger, so that there are fewer
    }
  }

 private:
  void grow(std::size_t size) {
    Bytes larger(size, name_);
    std::copy_n(bytes_.data(), used_, larger.data());
    bytes_ = std::move(larger);
  }

  void begin(Kind kind) {
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

  void add_raw(const ExampleFeature& feature) {
    values_.clear();
    add_bytes(feature, values_);
    if (values_.size() != 1) {
      throw Error(fmt::format("has {} byte strings as '{}', expected one with all numbers", values_.size(), name_));
    }
    append(values_.front(), "bytes' numbers");
  }

  void append(std::span<const std::byte> values, const char* what) {
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

/// Pictures in records: their locations in plain files, or the pictures themselves from compressed ones.
class RecordPictures : public EncodedPictures {
 public:
  void begin_file(const std::string& path, bool is_compressed) {
    files_.emplace_back(path);
    is_compressed_ = is_compressed;
  }
  void add(Record record, std::int64_t number, std::uint64_t record_offset, const std::string& name) {
    const ExampleFeature feature = require_feature(record, name, "image");
    std::vector<Record> values;
    if (feature.kind == Kind::kBytes) add_bytes(feature, values);
    if (values.size() != 1) {
      throw Error(fmt::format("has {} {} as '{}', expected one encoded picture",
                              feature.kind == Kind::kBytes ? std::to_string(values.size()) : "no",
                              feature.kind == Kind::kBytes ? "byte strings" : "bytes", name));
    }
    const Record picture = values.front();
    const auto offset = record_offset + static_cast<std::uint64_t>(picture.data() - record.data());
    Place& place = places_.emplace_back(Place{files_.size() - 1, number, offset, picture.size(), {}});
    if (is_compressed_) place.bytes.assign(picture.begin(), picture.end());
  }

  /// Removes what was added after this many records.
  void cut(std::int64_t records) { places_.resize(static_cast<std::size_t>(records)); }

  std::int64_t rows() const override { return static_cast<std::int64_t>(places_.size()); }
  void read(std::int64_t row, std::vector<std::byte>& to) const override {
    const Place& place = places_[static_cast<std::size_t>(row)];
    to.resize(place.size);
    if (!place.bytes.empty()) {
      std::ranges::copy(place.bytes, to.data());
    } else if (files_[place.file].read_at(place.offset, to) != place.size) {
      throw Error(fmt::format("{}: the file became shorter while the run continued", row_text(row)));
    }
  }
  std::uint64_t stored_bytes(std::int64_t row) const override { return places_[static_cast<std::size_t>(row)].size; }
  std::string row_text(std::int64_t row) const override {
    const Place& place = places_[static_cast<std::size_t>(row)];
    return fmt::format("{}: record {} (counting from 0)", files_[place.file].path(), place.number);
  }
  std::string identity() const override {
    FileStamps stamps;
    for (const PlainFile& file : files_) stamps.add(file.path());
    return stamps.text() + fmt::format(" {}", places_.size());
  }

 private:
  struct Place {
    std::size_t file;
    std::int64_t number;  ///< of the record in the file
    std::uint64_t offset;
    std::size_t size;
    std::vector<std::byte> bytes;
  };
  std::vector<PlainFile> files_;
  std::vector<Place> places_;
  bool is_compressed_ = false;
};

/// Rows of `column`; each of the parts is a file.
Array array_of(Column& column, std::int64_t rows, const std::vector<Array::Part>& parts) {
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

/// Concatenates several columns' numbers in each row.
Array side_by_side(const std::vector<Column>& columns, std::int64_t rows, const std::vector<Array::Part>& parts) {
  std::int64_t width = 0;
  for (const Column& column : columns) width += column.shape().elements();
  Array array(DType::kFloat32, {rows, width}, parts.front().origin);
  float* const all = array.span<float>().data();
  std::int64_t first = 0;
  for (const Column& column : columns) {
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

/// The records of a source, in order.
class Records {
 public:
  Records(const TfRecord& source, bool wants_labels, BadExamples* bad)
      : source_(source), wants_labels_(wants_labels), bad_(bad) {
    for (const auto& [name, values] : source.features.entries) {
      columns_.emplace_back(name, "features", Shape(values.shape), values.dtype);
    }
  }

  Examples read() {
    for (const std::string& path : expanded(source_.files, remarks_)) read_file(path);
    if (rows_ == 0 && bad_ != nullptr && bad_->any()) std::move(*bad_).left_out(0, parts_.front().origin);
    if (rows_ == 0) throw Error(fmt::format("{}: expected at least one record, found none", parts_.front().origin));
    Features features;
    if (source_.image) {
      features =
          decoded_when_asked(pictures_, {source_.image_size, source_.color}, parts_.front().origin, bad_ != nullptr);
    } else {
      features.array =
          columns_.size() == 1 ? array_of(columns_.front(), rows_, parts_) : side_by_side(columns_, rows_, parts_);
    }
    Array labels = wants_labels_ ? array_of(labels_, rows_, parts_)
                                 : Array(DType::kFloat32, {rows_}, parts_.front().origin);
    if (!wants_labels_) std::ranges::fill(labels.span<float>(), 0.0F);
    if (rows_ < all_) features.array.picked = labels.picked = picked_;
    features.array.remarks = std::move(remarks_);
    Examples examples;
    examples.inputs.push_back(std::move(features));
    examples.outputs.push_back({"", std::move(labels)});
    return examples;
  }

 private:
  void read_file(const std::string& path) {
    RecordReader reader(path);
    parts_.push_back({all_, path, 0});
    if (source_.image) pictures_->begin_file(path, reader.is_compressed());
    const std::int64_t before = rows_;
    for (;; ++all_) {
      try {
        const auto record = reader.next();
        if (!record) break;
        add(*record, reader, path);
        if (rows_ == before) expect(before + reader.likely_records());
        picked_.push_back(all_);
        ++rows_;
      } catch (const BadRecord& error) {
        leave_out(error.what());
      } catch (const DamagedRecord& error) {
        if (bad_ == nullptr) throw;
        leave_out(error.what());
      }
    }
  }

  void add(Record record, const RecordReader& reader, const std::string& path) {
    try {
      for (Column& column : columns_) column.add(record);
      if (source_.image) pictures_->add(record, reader.number(), reader.offset(), *source_.image);
      if (wants_labels_) labels_.add(record);
    } catch (const Error& error) {
      const std::string text = fmt::format("{}: record {} (counting from 0) {}", path, reader.number(), error.what());
      if (bad_ == nullptr) throw Error(text);
      throw BadRecord(text);
    }
  }

  void expect(std::int64_t records) {
    for (Column& column : columns_) column.expect(records);
    if (wants_labels_) labels_.expect(records);
  }

  void leave_out(const std::string& reason) {
    bad_->add(all_, reason);
    for (Column& column : columns_) column.cut(rows_);
    if (source_.image) pictures_->cut(rows_);
    labels_.cut(rows_);
  }

  class BadRecord : public Error {
    using Error::Error;
  };

  const TfRecord& source_;
  bool wants_labels_;
  BadExamples* bad_;
  std::vector<Column> columns_;
  Column labels_{source_.labels, "labels", std::nullopt, std::nullopt};
  const std::shared_ptr<RecordPictures> pictures_ = std::make_shared<RecordPictures>();
  std::vector<Array::Part> parts_;
  std::vector<std::string> remarks_;
  std::int64_t rows_ = 0, all_ = 0;   ///< without and with the records that are left out
  std::vector<std::int64_t> picked_;  ///< the number of each row among all
};

}  // namespace

config::Section<RecordValues> RecordValues::section() {
  return config::Section<RecordValues>("The numbers of a feature.")
      .key("shape", &RecordValues::shape, "Their shape in an example; []: one number.", config::at_least(1))
      .key("dtype", &RecordValues::dtype,
           "Their type where the feature is bytes, as tf.io.decode_raw reads them; null: uint8. Floats are float32 and "
           "integers int64.");
}

config::Section<TfRecord> TfRecord::section() {
  return config::Section<TfRecord>("TFRecord files of tf.train.Example messages, gzip-compressed or not.")
      .key("files", &TfRecord::files, "Path of the file; or a glob or a list of files.", config::required)
      .key("features", &TfRecord::features,
           "The features with their shapes, as {pixels: {shape: [28, 28]}}; several are put side by side.")
      .key("image", &TfRecord::image,
           "Name of the feature with an encoded PNG or JPEG picture, in the place of `features`. Pictures are decoded "
           "while the run continues, as numbers from 0 to 255.",
           config::non_empty)
      .key("labels", &TfRecord::labels, "Name of the feature with the labels.", config::non_empty)
      .key("image_size", &TfRecord::image_size,
           "With `image`: height and width to which pictures are resized (bilinear, without antialiasing); null: all "
           "are "
           "as large as the first.",
           config::between(1, 1 << 15))
      .key("color", &TfRecord::color, "With `image`: three channels or one.")
      .check("features", [](const TfRecord& source) -> std::string {
        if (source.features.empty() != source.image.has_value()) {
          return "expected either the names and shapes of features, or the name of a picture's in 'image'";
        }
        return "";
      });
}

Examples read(const TfRecord& source, BadExamples* bad) { return Records(source, true, bad).read(); }
Examples read_without_labels(const TfRecord& source, BadExamples* bad) { return Records(source, false, bad).read(); }

}  // namespace mirrortrain::data
