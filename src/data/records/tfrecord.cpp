#include "data/records/tfrecord.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "base/error.h"
#include "data/files/unpacked_input.h"
#include "data/key_aliases.h"
#include "data/records/record_columns.h"
#include "data/records/records.h"
#include "data/records/stored_records.h"

namespace mirrortrain::data {
namespace {

/// The records of a source, in order.
class Records {
 public:
  /// `cache`: null where the numbers are held in memory.
  Records(const TfRecord& source, bool wants_labels, BadExamples* bad, const UnpackedFiles* cache = nullptr)
      : source_(source), wants_labels_(wants_labels), bad_(bad), cache_(cache) {
    for (const auto& [name, input] : source.inputs.entries) add_input(name, input);
    if (source.image) add_pictures("", *source.image, "image", {source.image_size, source.color});
    if (!source.features.empty()) inputs_.emplace_back();
    for (const auto& [name, values] : source.features.entries) {
      inputs_.back().columns.emplace_back(name, "features", Shape(values.shape), values.dtype);
    }
    if (!wants_labels) return;
    if (source.labels.one) outputs_.push_back({"", {*source.labels.one, "labels", std::nullopt, std::nullopt}});
    for (const auto& [name, feature] : source.labels.named.entries) {
      outputs_.push_back({name, {feature, "labels." + name, std::nullopt, std::nullopt}});
    }
  }

  Examples read() {
    for (const std::string& path : expanded(source_.files, remarks_)) read_file(path);
    const std::string& origin = parts_.front().origin;
    if (rows_ == 0 && bad_ != nullptr && bad_->any()) std::move(*bad_).left_out(0, origin);
    if (rows_ == 0) throw Error(fmt::format("{}: expected at least one record, found none", origin));
    Examples examples;
    for (Input& input : inputs_) examples.inputs.push_back({input.name, {}});
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      Input& input = inputs_[i];
      Features& features = examples.inputs[i];
      if (input.pictures) {
        features = decoded_when_asked(input.pictures, input.form, origin, bad_ != nullptr);
        features.name = input.name;
      } else if (cache_ != nullptr) {
        std::vector<const RecordColumn*> columns;
        for (const RecordColumn& column : input.columns) columns.push_back(&column);
        features.array = array_by_position(columns, places_, parts_);
      } else {
        features.array = input.columns.size() == 1 ? array_of(input.columns.front(), rows_, parts_)
                                                   : side_by_side(input.columns, rows_, parts_);
      }
      if (rows_ < all_) features.array.picked = picked_;
    }
    examples.inputs.front().array.remarks = std::move(remarks_);
    for (Output& output : outputs_) {
      examples.outputs.push_back({output.name, keeps(output) ? array_of(output.column, rows_, parts_)
                                                             : array_by_position({&output.column}, places_, parts_)});
    }
    if (!wants_labels_) {
      examples.outputs.push_back({"", Array(DType::kFloat32, {rows_}, origin)});
      std::ranges::fill(examples.outputs.front().array.span<float>(), 0.0F);
    }
    for (Labels& labels : examples.outputs) {
      if (rows_ < all_) labels.array.picked = picked_;
    }
    return examples;
  }

 private:
  /// Numbers or, if it has pictures, these.
  struct Input {
    std::string name{};
    std::vector<RecordColumn> columns{};
    std::shared_ptr<RecordPictures> pictures{};
    PictureForm form{};
  };
  struct Output {
    std::string name;
    RecordColumn column;
  };

  void add_input(const std::string& name, const RecordInput& input) {
    const std::string key = "inputs." + name;
    if (input.image) return add_pictures(name, *input.image, key + ".image", *source_.form_of(name));
    inputs_.push_back({name});
    inputs_.back().columns.emplace_back(name, key, Shape(*input.shape), input.dtype);
  }
  void add_pictures(const std::string& name, const std::string& feature, const std::string& key,
                    const PictureForm& form) {
    inputs_.push_back({name, {}, std::make_shared<RecordPictures>(feature, key), form});
  }

  template <class Do>
  void for_each_column(const Do& apply) {
    for (Input& input : inputs_) {
      for (RecordColumn& column : input.columns) apply(column);
    }
    for (Output& output : outputs_) apply(output.column);
  }

  void read_file(const std::string& path) {
    RecordReader reader(path);
    parts_.push_back({all_, path, 0});
    const std::shared_ptr<const UnpackedFile> unpacked =
        cache_ != nullptr && reader.is_compressed() ? unpack_input(path, *cache_) : nullptr;
    if (cache_ != nullptr) places_->begin_file(path, unpacked);
    for (Input& input : inputs_) {
      if (input.pictures) input.pictures->begin_file(path, reader.is_compressed(), unpacked);
    }
    const std::int64_t before = rows_;
    for (;; ++all_) {
      try {
        const auto record = reader.next();
        if (!record) break;
        add(*record, reader, path);
        if (rows_ == before && cache_ == nullptr) expect(before + reader.likely_records());
        if (cache_ != nullptr) {
          places_->add(reader.offset());
          forget();
        }
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
      for (Input& input : inputs_) {
        for (RecordColumn& column : input.columns) column.add(record);
        if (input.pictures) input.pictures->add(record, reader.number(), reader.offset());
      }
      for (Output& output : outputs_) output.column.add(record);
    } catch (const Error& error) {
      const std::string text = fmt::format("{}: record {} (counting from 0) {}", path, reader.number(), error.what());
      if (bad_ == nullptr) throw Error(text);
      throw BadRecord(text);
    }
  }

  void expect(std::int64_t records) {
    for_each_column([&](RecordColumn& column) { column.expect(records); });
  }

  void leave_out(const std::string& reason) {
    bad_->add(all_, reason);
    if (cache_ == nullptr || rows_ == 0) {
      for_each_column([&](RecordColumn& column) { column.cut(rows_); });
    } else {
      forget();
      for (Output& output : outputs_) {
        if (keeps(output)) output.column.cut(rows_);
      }
    }
    for (Input& input : inputs_) {
      if (input.pictures) input.pictures->cut(rows_);
    }
  }

  /// Whether an output's labels are held.
  bool keeps(const Output& output) const { return cache_ == nullptr || output.column.row_bytes() <= kMostBytesOfIndex; }
  /// Numbers that are read by position.
  void forget() {
    for (Input& input : inputs_) {
      for (RecordColumn& column : input.columns) column.forget();
    }
    for (Output& output : outputs_) {
      if (!keeps(output)) output.column.forget();
    }
  }

  class BadRecord : public Error {
    using Error::Error;
  };

  const TfRecord& source_;
  bool wants_labels_;
  BadExamples* bad_;
  const UnpackedFiles* cache_;
  std::shared_ptr<RecordPlaces> places_ = std::make_shared<RecordPlaces>();  ///< if there is a cache
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
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

namespace {

std::string input_mismatch(const RecordInput& input) {
  if (input.shape.has_value() == input.image.has_value()) {
    return "expected either the shape of the feature of the input's name, or the name of a picture's in 'image'";
  }
  if (input.image && input.dtype) return "dtype is for numbers, and pictures are numbers from 0 to 255; leave it out";
  if (!input.image && (input.image_size || input.color)) {
    return fmt::format("{} is for pictures; give one's name in 'image', or leave it out",
                       input.image_size ? "image_size" : "color");
  }
  return "";
}

}  // namespace

config::Section<RecordInput> RecordInput::section() {
  return config::Section<RecordInput>("Features of a record that are an input of the model.")
      .key("shape", &RecordInput::shape,
           "Takes the numbers of the feature of the input's name; their shape in an example, [] for one number.",
           config::at_least(1))
      .key("dtype", &RecordInput::dtype,
           "The numbers' type where the feature is bytes, as tf.io.decode_raw reads them; null: uint8. Floats are "
           "float32 and integers int64.")
      .key("image", &RecordInput::image,
           "In place of `shape`: name of the feature with an encoded picture (PNG, JPEG, WebP, BMP, GIF or TIFF).",
           config::non_empty)
      .key("image_size", &RecordInput::image_size,
           "Height and width to which pictures are resized; null: as `image_size` beside `inputs` says.",
           config::between(1, 1 << 15), kImageSizeAliases)
      .key("color", &RecordInput::color, "Three channels or one; null: as `color` beside `inputs` says.", kColorAliases)
      .check("", input_mismatch);
}

std::optional<PictureForm> TfRecord::form_of(std::string_view input) const {
  const RecordInput* const own = inputs.find(input);
  if (own == nullptr) return image ? std::optional(PictureForm{image_size, color}) : std::nullopt;
  if (!own->image) return std::nullopt;
  return PictureForm{own->image_size ? own->image_size : image_size, own->color.value_or(color)};
}

FieldNames TfRecord::field_names() const { return names_of_fields(inputs, labels); }

config::Section<TfRecord> TfRecord::section() {
  return config::Section<TfRecord>("TFRecord files of tf.train.Example messages, gzip-compressed or not.")
      .key("files", &TfRecord::files, "Path of the file; or a glob or a list of files.", config::required)
      .key("features", &TfRecord::features,
           "The features with their shapes, as {pixels: {shape: [28, 28]}}; several are put side by side.",
           kFeaturesAliases)
      .key("image", &TfRecord::image,
           "Name of the feature with an encoded picture (PNG, JPEG, WebP, BMP, GIF or TIFF), in the place of "
           "`features`. Pictures are decoded "
           "while the run continues, as numbers from 0 to 255.",
           config::non_empty)
      .key("inputs", &TfRecord::inputs,
           "In place of `features` and `image`: what each input of the model takes, as {INPUT: {shape: [28]}, INPUT: "
           "{image: FEATURE}}.")
      .key("labels", &TfRecord::labels,
           "Name of the feature with the labels; or one for each output of the model, as {OUTPUT: FEATURE}.",
           config::non_empty, kLabelsAliases)
      .key("image_size", &TfRecord::image_size,
           "With pictures: height and width to which pictures are resized (bilinear, without antialiasing); null: all "
           "are as large as the first.",
           config::between(1, 1 << 15), kImageSizeAliases)
      .key("color", &TfRecord::color, "With pictures: three channels or one.", kColorAliases)
      .check("features", [](const TfRecord& source) -> std::string {
        const int ways = !source.features.empty() + source.image.has_value() + !source.inputs.empty();
        return ways == 1
                   ? ""
                   : "expected either the names and shapes of features, or the name of a picture's in 'image', or "
                     "'inputs'";
      });
}

Examples read(const TfRecord& source, BadExamples* bad) { return Records(source, true, bad).read(); }
Examples open_records(const TfRecord& source, BadExamples* bad, const UnpackedFiles& cache) {
  return Records(source, true, bad, &cache).read();
}
Examples read_without_labels(const TfRecord& source, BadExamples* bad) { return Records(source, false, bad).read(); }

}  // namespace mirrortrain::data
