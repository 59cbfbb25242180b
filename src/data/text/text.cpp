#include "data/text/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "data/files/input.h"
#include "data/text/stored_text.h"
#include "data/text/vocabulary.h"

namespace mirrortrain::data {
namespace {

/// The windows of a list of tokens that begin at every `stride`-th from `first`.
template <class Element, class Token>
Array windows_from(std::span<const Token> tokens, std::int64_t first, std::int64_t rows, const Text& source,
                   const std::string& origin) {
  const std::int64_t stride = source.stride.value_or(source.window);
  const DType dtype = std::is_same_v<Element, std::uint8_t> ? DType::kUint8 : DType::kInt32;
  Array windows(dtype, Shape{rows, source.window}, origin);
  auto to = windows.span<Element>().begin();
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto window = tokens.subspan(static_cast<std::size_t>(first + row * stride));
    to = std::transform(window.begin(), window.begin() + source.window, to,
                        [](Token token) { return static_cast<Element>(token); });
  }
  return windows;
}

}  // namespace

std::int64_t windows_in(std::int64_t tokens, const Text& source, const std::string& path) {
  const std::int64_t starts = tokens - source.window;
  if (starts < 1) {
    const char* const unit = source.vocabulary ? "tokens" : "bytes";
    throw Error(
        fmt::format("{}: expected at least {} {}, a window of {} and one more, found {}; take a smaller window "
                    "or another file",
                    path, source.window + 1, unit, source.window, tokens));
  }
  return 1 + (starts - 1) / source.stride.value_or(source.window);
}

namespace {

/// The windows of all files; each file has as many as are followed by a token.
class Windows {
 public:
  explicit Windows(const Text& source) : source_(source) {}

  template <class Element, class Token>
  void add(std::span<const Token> tokens, const std::string& path) {
    const std::int64_t rows = windows_in(std::ssize(tokens), source_, path);
    features_.push_back(windows_from<Element>(tokens, 0, rows, source_, path));
    labels_.push_back(windows_from<Element>(tokens, 1, rows, source_, path));
  }
  Examples take() { return examples_of(joined(std::move(features_)), joined(std::move(labels_))); }

 private:
  const Text& source_;
  std::vector<Array> features_, labels_;
};

}  // namespace

config::Section<Text> Text::section() {
  return config::Section<Text>(
             "Files of text cut into windows, for models that predict the next token: the features are a window's "
             "tokens as numbers, the labels the same shifted by one token.")
      .key("files", &Text::files, "Path of the file; or a glob or a list of files.", config::required)
      .key("window", &Text::window, "Number of tokens of an example.", config::required, config::between(1, 1 << 20))
      .key("vocabulary", &Text::vocabulary,
           "File with the tokens, characters, words or parts of words, numbered from 0 in its order: a JSON list of "
           "strings where its name ends in .json, else a token on each line. A text is cut from left to right into the "
           "longest tokens that fit. null: tokens are bytes, numbers from 0 to 255.")
      .key("stride", &Text::stride,
           "Number of tokens from the beginning of a window to that of the next; null: the window, so that none "
           "overlap.",
           config::between(1, 1 << 20));
}

namespace {

std::string text_of(const std::string& path) {
  return std::string(without_byte_order_mark(read_text(*open_input(path))));
}

}  // namespace

TokenWindows read_windows(const Text& source) {
  Windows windows(source);
  std::vector<std::string> remarks;
  const std::vector<std::string> paths = expanded(source.files, remarks);
  const auto taken = [&](std::int64_t tokens) {
    Examples examples = windows.take();
    examples.inputs.front().array.remarks = std::move(remarks);
    examples.inputs.front().array.tokens = tokens;
    return examples;
  };
  if (!source.vocabulary) {
    for (const std::string& path : paths) {
      const std::string text(text_of(path));
      windows.add<std::uint8_t>(std::span(text.data(), text.size()), path);
    }
    return {taken(kByteTokens), {}};
  }
  const Vocabulary vocabulary = Vocabulary::read(source.vocabulary->text);
  for (const std::string& path : paths) {
    const std::vector<std::int32_t> tokens = vocabulary.encode(text_of(path), path);
    if (vocabulary.size() <= 256) {
      windows.add<std::uint8_t>(std::span(tokens), path);
    } else {
      windows.add<std::int32_t>(std::span(tokens), path);
    }
  }
  return {taken(vocabulary.size()), vocabulary.tokens()};
}

Examples read(const Text& source) { return read_windows(source).examples; }

}  // namespace mirrortrain::data
