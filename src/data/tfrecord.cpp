#include "data/tfrecord.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "base/error.h"
#include "config/scalar.h"
#include "data/records.h"
#include "data/tf_example.h"

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

/// What every record has under one name, in the order of the records.
class Column {
 public:
  /// `shape`: null for what the first record has, a scalar where it has one value.
  Column(std::string name, std::string key, std::optional<Shape> shape, std::optional<DType> dtype)
      : name_(std::move(name)), key_(std::move(key)), shape_(std::move(shape)), given_(dtype) {}

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
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
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
    bytes_.insert(bytes_.end(), values.begin(), values.end());
  }

  std::string name_, key_;
  std::optional<Shape> shape_;
  std::optional<DType> given_;
  Kind kind_ = Kind::kNothing;
  DType dtype_ = DType::kFloat32;
  std::vector<std::byte> bytes_;
  std::vector<float> floats_;
  std::vector<std::int64_t> integers_;
  std::vector<Record> values_;
};

/// Pictures in records: where they are in plain files, and themselves of compressed ones.
class RecordPictures : public EncodedPictures {
 public:
  void begin_file(const std::string& path, bool is_compressed) {
    files_.push_back({PlainFile(path), rows()});
    is_compressed_ = is_compressed;
  }
  void add(Record record, std::uint64_t record_offset, const std::string& name) {
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
    Place& place = places_.emplace_back(Place{files_.size() - 1, offset, picture.size(), {}});
    if (is_compressed_) place.bytes.assign(picture.begin(), picture.end());
  }

  std::int64_t rows() const override { return static_cast<std::int64_t>(places_.size()); }
  Bytes read(std::int64_t row) const override {
    const Place& place = places_[static_cast<std::size_t>(row)];
    Bytes bytes(place.size, row_text(row));
    if (!place.bytes.empty()) {
      std::ranges::copy(place.bytes, bytes.data());
    } else if (files_[place.file].file.read_at(place.offset, {bytes.data(), bytes.size()}) != place.size) {
      throw Error(fmt::format("{}: the file became shorter while the run continued", row_text(row)));
    }
    return bytes;
  }
  std::uint64_t stored_bytes(std::int64_t row) const override { return places_[static_cast<std::size_t>(row)].size; }
  std::string row_text(std::int64_t row) const override {
    const File& file = files_[places_[static_cast<std::size_t>(row)].file];
    return fmt::format("{}: record {} (counting from 0)", file.file.path(), row - file.first_row);
  }

 private:
  struct File {
    PlainFile file;
    std::int64_t first_row;
  };
  struct Place {
    std::size_t file;
    std::uint64_t offset;
    std::size_t size;
    std::vector<std::byte> bytes;
  };
  std::vector<File> files_;
  std::vector<Place> places_;
  bool is_compressed_ = false;
};

/// Rows of `column`, whose parts are files.
Array array_of(const Column& column, std::int64_t rows, const std::vector<Array::Part>& parts) {
  std::vector<std::int64_t> dims = column.shape().dims();
  dims.insert(dims.begin(), rows);
  Array array(column.dtype(), Shape(std::move(dims)), parts.front().origin);
  std::ranges::copy(column.bytes(), array.bytes.data());
  if (parts.size() > 1) array.parts = parts;
  return array;
}

/// Several columns' numbers of a row, one after the other.
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

Examples read_records(const TfRecord& source, bool wants_labels) {
  std::vector<Column> columns;
  for (const auto& [name, values] : source.features.entries) {
    columns.emplace_back(name, "features", Shape(values.shape), values.dtype);
  }
  Column labels(source.labels, "labels", std::nullopt, std::nullopt);
  const auto pictures = std::make_shared<RecordPictures>();
  std::vector<Array::Part> parts;
  std::int64_t rows = 0;
  for (const std::string& path : expanded(source.files)) {
    RecordReader reader(path);
    parts.push_back({rows, path, 0});
    if (source.image) pictures->begin_file(path, reader.is_compressed());
    while (const auto record = reader.next()) {
      try {
        for (Column& column : columns) column.add(*record);
        if (source.image) pictures->add(*record, reader.offset(), *source.image);
        if (wants_labels) labels.add(*record);
      } catch (const Error& error) {
        throw Error(fmt::format("{}: record {} (counting from 0) {}", path, reader.number(), error.what()));
      }
      ++rows;
    }
  }
  if (rows == 0) throw Error(fmt::format("{}: expected at least one record, found none", parts.front().origin));
  Examples examples;
  if (source.image) {
    examples = decoded_when_asked(pictures, {source.image_size, source.color}, parts.front().origin);
  } else {
    examples.features =
        columns.size() == 1 ? array_of(columns.front(), rows, parts) : side_by_side(columns, rows, parts);
    examples.labels = Array(DType::kFloat32, {rows}, parts.front().origin);
    std::ranges::fill(examples.labels.span<float>(), 0.0F);
  }
  if (wants_labels) examples.labels = array_of(labels, rows, parts);
  return examples;
}

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

Examples read(const TfRecord& source) { return read_records(source, true); }
Examples read_without_labels(const TfRecord& source) { return read_records(source, false); }

}  // namespace mirrortrain::data
