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

/// Text files, for models that predict the next token: each is split into windows.
struct Text {
  static constexpr std::string_view kName = "text";
  Files files;
  std::int64_t window = 0;
  std::optional<config::Path> vocabulary{};  ///< absent: tokens are bytes
  std::optional<std::int64_t> stride{};  ///< distance between the beginnings of consecutive windows; absent: the window
  static config::Section<Text> section();
};

struct TokenWindows {
  Examples examples;
  std::vector<std::string> tokens;  ///< the vocabulary's; empty if they are bytes
};

/// Features [windows, window], the tokens as numbers, uint8 if there are at most 256; labels are the same shifted by
/// one token. The rest of a file after its last whole window and the token following it is dropped. Throws Error for a
/// file too short for one window, and for text that is not a sequence of tokens.
TokenWindows read_windows(const Text& source);
/// Only the examples.
Examples read(const Text& source);

}  // namespace mirrortrain::data
