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

/// What the labels of pictures, or their folders' names, are to be.
struct PictureLabels {
  const std::vector<std::string>* classes = nullptr;  ///< those of the training data; null: these are it
  bool are_numbers = false;                           ///< numbers to predict in place of classes
};

/// Pictures and their labels.
struct FoundPictures {
  Examples examples;  ///< features float32 [rows, height, width, channels], from the source; labels float64
  std::vector<std::string> classes;  ///< sorted; empty where labels are to be numbers
};

/// Finds the pictures without decoding more than the first one's size. Throws Error for a folder without pictures, for
/// labels that are to be numbers and are none and, unless `bad` gathers them, files that are missing and classes that
/// the training data do not have.
FoundPictures find_pictures(const ImageFolder& source, const PictureLabels& wanted, BadExamples* bad = nullptr);

/// Whether the folder itself has pictures.
bool has_pictures(const ImageFolder& source);

/// The pictures in a folder itself, in bytewise order, all with label 0: new data.
Examples find_new_pictures(const ImageFolder& source, bool passes_over_bad = false);

}  // namespace mirrortrain::data
