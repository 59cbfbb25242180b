#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/section.h"
#include "data/dataset.h"
#include "data/pictures/decoded_pictures.h"

namespace mirrortrain::data {

/// A folder with pictures for each class, or a folder of pictures with a CSV file of names and labels.
struct ImageFolder {
  static constexpr std::string_view kName = "image_folder";
  static constexpr std::string_view kAliases = "images";
  config::Path directory;
  std::optional<config::Path> labels;                     ///< CSV: a picture's path relative to the folder, its label
  std::optional<std::array<std::int64_t, 2>> image_size;  ///< height, width; null: the first picture's
  PictureColor color = PictureColor::kRgb;
  static config::Section<ImageFolder> section();
};

/// The kind of labels of pictures, from the CSV file or the folders' names.
struct PictureLabels {
  const std::vector<std::string>* classes = nullptr;  ///< the training data's; null: these are the training data
  bool are_numbers = false;                           ///< numbers to predict instead of classes
};

/// Pictures and their labels.
struct FoundPictures {
  Examples examples;  ///< features float32 [rows, height, width, channels], from the source; labels float64
  std::vector<std::string> classes;  ///< sorted; empty if labels are numbers
};

/// Finds the pictures, without decoding more than the first one's size. Throws Error for a folder without pictures, for
/// labels that should be numbers and are not and, unless `bad` collects them, for files that are missing and classes
/// that the training data do not have.
FoundPictures find_pictures(const ImageFolder& source, const PictureLabels& wanted, BadExamples* bad = nullptr);

/// Whether the folder itself has pictures.
bool has_pictures(const ImageFolder& source);

/// The pictures directly in a folder, in bytewise order, all with label 0: new data.
Examples find_new_pictures(const ImageFolder& source, bool passes_over_bad = false);
/// The same for pictures that are listed. `form`: how they are decoded.
Examples new_pictures(const ImageFolder& form, std::vector<std::string> files, bool passes_over_bad = false);

}  // namespace mirrortrain::data
