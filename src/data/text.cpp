#include "data/text.h"

#include <fmt/format.h>

#include <cstring>
#include <span>
#include <string>

#include "base/error.h"
#include "data/input.h"

namespace mirrortrain::data {
namespace {

std::string read_text(Input& input) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  std::string text;
  std::size_t size = 0, got = 0;
  do {
    text.resize(size + kPiece);
    got = input.read(std::as_writable_bytes(std::span(text).subspan(size)));
    size += got;
  } while (got == kPiece);
  text.resize(size);
  return text;
}

/// The windows of a text from a byte on, of which there is one more than the windows have.
Array windows_from(std::string_view text, std::size_t first, std::int64_t rows, std::int64_t window,
                   const std::string& origin) {
  Array windows(DType::kUint8, Shape{rows, window}, origin);
  std::memcpy(windows.bytes.data(), text.data() + first, windows.bytes.size());
  return windows;
}

}  // namespace

config::Section<Text> Text::section() {
  return config::Section<Text>(
             "Files of text cut into windows, for models that tell the next byte: the features are a window's bytes as "
             "numbers from 0 to 255, the labels the same shifted by one byte.")
      .key("files", &Text::files, "Path of the file; or a glob or a list of files.", config::required)
      .key("window", &Text::window, "Number of bytes of an example.", config::required, config::between(1, 1 << 20));
}

Examples read(const Text& source) {
  std::vector<Array> features, labels;
  for (const std::string& path : expanded(source.files)) {
    const auto input = open_input(path);
    const std::string text = read_text(*input);
    const std::int64_t rows = (std::ssize(text) - 1) / source.window;
    if (rows < 1) {
      throw Error(
          fmt::format("{}: expected at least {} bytes, a window of {} and one more, found {}; take a smaller "
                      "window or another file",
                      path, source.window + 1, source.window, text.size()));
    }
    features.push_back(windows_from(text, 0, rows, source.window, path));
    labels.push_back(windows_from(text, 1, rows, source.window, path));
  }
  return {joined(std::move(features)), joined(std::move(labels))};
}

}  // namespace mirrortrain::data
