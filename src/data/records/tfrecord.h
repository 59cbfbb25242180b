#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "config/by_name.h"
#include "config/map.h"
#include "config/section.h"
#include "data/fields.h"
#include "data/files/file_list.h"
#include "data/pictures/decoded_pictures.h"

namespace mirrortrain::data {

/// How a feature of a record is converted to numbers.
struct RecordValues {
  std::vector<std::int64_t> shape;
  std::optional<DType> dtype;  ///< for a feature of bytes; null: uint8
  static config::Section<RecordValues> section();
};

/// What an input of the model takes from records: the numbers of the feature of its name, or a picture.
struct RecordInput {
  std::optional<std::vector<std::int64_t>> shape{};  ///< of numbers
  std::optional<DType> dtype{};                      ///< for a feature of bytes; null: uint8
  std::optional<std::string> image{};                ///< the feature that contains an encoded picture
  std::optional<std::array<std::int64_t, 2>> image_size{};
  std::optional<PictureColor> color{};
  static config::Section<RecordInput> section();
};

/// TFRecord files of tf.train.Example messages.
struct TfRecord {
  static constexpr std::string_view kName = "tfrecord";
  Files files;
  config::Map<RecordValues> features{};  ///< by name; empty if examples are pictures or have `inputs`
  std::optional<std::string> image{};    ///< the feature that contains an encoded picture
  config::Map<RecordInput> inputs{};     ///< in place of both
  config::ByName<std::string> labels{"label", {}};
  std::optional<std::array<std::int64_t, 2>> image_size{};  ///< height, width; null: the first picture's
  PictureColor color = PictureColor::kRgb;
  static config::Section<TfRecord> section();

  FieldNames field_names() const;
  /// Of an input's pictures; nothing if it is numbers. `input`: empty for the only one.
  std::optional<PictureForm> form_of(std::string_view input) const;
};

/// Features in the type of their values, or decoded from pictures on demand; several features are concatenated as
/// float32. Labels int64 or float32. Throws Error, naming file, record and feature, for features that are missing or of
/// another kind, unless `bad` collects such records.
Examples read(const TfRecord& source, BadExamples* bad = nullptr);
/// The same for records that need not have labels: all labels are 0.
Examples read_without_labels(const TfRecord& source, BadExamples* bad = nullptr);

}  // namespace mirrortrain::data

template <>
struct mirrortrain::config::EnumNames<mirrortrain::DType> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::DType>>({
      {"uint8", mirrortrain::DType::kUint8},
      {"int32", mirrortrain::DType::kInt32},
      {"int64", mirrortrain::DType::kInt64},
      {"float32", mirrortrain::DType::kFloat32},
      {"float64", mirrortrain::DType::kFloat64},
  });
  static constexpr auto aliases = std::to_array<std::pair<std::string_view, std::string_view>>({{"float32", "fp32"}});
};
