#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/section.h"
#include "data/dataset.h"
#include "data/files/file_list.h"

namespace mirrortrain::data {

/// Files of text, for models that predict the next token: each is cut into windows.
struct Text {
  static constexpr std::string_view kName = "text";
  Files files;
  std::int64_t window = 0;
  std::optional<config::Path> vocabulary{};  ///< absent: tokens are bytes
  std::optional<std::int64_t> stride{};      ///< from a window's begin to the next one's; absent: the window
  static config::Section<Text> section();
};

struct TokenWindows {
  Examples examples;
  std::vector<std::string> tokens;  ///< those of the vocabulary; none where they are bytes
};

/// Features [windows, window], the tokens as numbers, uint8 where there are at most 256; labels the same shifted by one
/// token. What is left of a file behind its last whole window and the token after it is left out. Throws Error for a
/// file too short for one, and for one that holds what is no token.
TokenWindows read_windows(const Text& source);
/// The examples alone.
Examples read(const Text& source);

}  // namespace mirrortrain::data
