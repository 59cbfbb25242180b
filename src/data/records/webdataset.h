#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "config/by_name.h"
#include "config/map.h"
#include "config/section.h"
#include "data/bad_examples.h"
#include "data/fields.h"
#include "data/files/file_list.h"
#include "data/files/unpacked_files.h"
#include "data/pictures/decoded_pictures.h"

namespace mirrortrain::data {

/// A picture of each sample, for an input of the model.
struct SampleInput {
  std::string image;  ///< the ending, or several separated by ';'
  std::optional<std::array<std::int64_t, 2>> image_size{};
  std::optional<PictureColor> color{};
  static config::Section<SampleInput> section();
};

/// Like webdataset's base_plus_ext: "a/b.seg.png" is "a/b" and "seg.png", in lower case. Both are empty for files of no
/// sample.
std::pair<std::string, std::string> name_and_ending(const std::string& path);

/// Tar archives of samples: files beside each other that have a name in common and differ in what follows its first
/// dot.
struct WebDataset {
  static constexpr std::string_view kName = "webdataset";
  static constexpr std::string_view kAliases = "wds, tar";
  Files file;
  std::optional<std::string> image{};  ///< the ending, or several separated by ';'; null: of the sample's only picture
  config::Map<SampleInput> inputs{};   ///< in place of `image`
  config::ByName<std::string> labels{"cls", {}};            ///< endings
  std::optional<std::array<std::int64_t, 2>> image_size{};  ///< height, width; null: the first picture's
  PictureColor color = PictureColor::kRgb;
  static config::Section<WebDataset> section();

  FieldNames field_names() const;
  /// Of an input's pictures; `input`: empty for the only one.
  PictureForm form_of(std::string_view input) const;
};

/// Pictures that are decoded on demand, and labels float64. Reads the archives' headers, and the labels; compressed
/// archives are unpacked into `cache`. Throws Error, naming archive and sample, for samples that lack a file, or whose
/// label is no number, unless `bad` collects them.
Examples open_samples(const WebDataset& source, BadExamples* bad, const UnpackedFiles& cache);
/// The same for samples that need not have labels: all labels are 0.
Examples open_samples_without_labels(const WebDataset& source, BadExamples* bad, const UnpackedFiles& cache);

}  // namespace mirrortrain::data
