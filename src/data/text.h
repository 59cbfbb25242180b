#pragma once

#include <cstdint>
#include <string_view>

#include "config/section.h"
#include "data/dataset.h"
#include "data/file_list.h"

namespace mirrortrain::data {

/// Files of text, for models that tell the next byte: each is cut into windows, one after the other.
struct Text {
  static constexpr std::string_view kName = "text";
  Files files;
  std::int64_t window = 0;
  static config::Section<Text> section();
};

/// Features uint8 [windows, window], the bytes as numbers; labels the same shifted by one byte. What is left of a file
/// after its last whole window and the byte behind it is left out. Throws Error for a file too short for one.
Examples read(const Text& source);

}  // namespace mirrortrain::data
