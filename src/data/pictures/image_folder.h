#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "config/section.h"
#include "data/dataset.h"
#include "data/pictures/decoded_pictures.h"

namespace mirrortrain::data {

/// A folder for each class with PNG and JPEG files in it, or a folder of pictures with a CSV file of names and labels.
struct ImageFolder {
  static constexpr std::string_view kName = "image_folder";
  config::Path directory;
  std::optional<config::Path> labels;                     ///< CSV: a picture's path below the folder, its label
  std::optional<std::array<std::int64_t, 2>> image_size;  ///< height, width; null: that of the first picture
  PictureColor color = PictureColor::kRgb;
  static config::Section<ImageFolder> section();
};

/// Pictures and their labels: numbers of `classes`, or numbers where the CSV file has numbers.
struct FoundPictures {
  Examples examples;  ///< features float32 [rows, height, width, channels], from the source; labels float64
  std::vector<std::string> classes;  ///< sorted; empty where labels are numbers
};

/// Finds the pictures without decoding more than the first one's size. `classes`: those of the training data, which
/// other names are refused against; null where these are it. Throws Error for a folder without pictures and, unless
/// `bad` gathers them, files that are missing and other names.
FoundPictures find_pictures(const ImageFolder& source, const std::vector<std::string>* classes,
                            BadExamples* bad = nullptr);

/// Whether the folder itself has pictures.
bool has_pictures(const ImageFolder& source);

/// The pictures in a folder itself, in bytewise order, all with label 0: new data.
Examples find_new_pictures(const ImageFolder& source, bool passes_over_bad = false);

}  // namespace mirrortrain::data
