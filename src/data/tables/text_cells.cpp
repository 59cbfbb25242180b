#include "data/tables/text_cells.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "data/tables/csv_file.h"

namespace mirrortrain::data {

TextCells::TextCells(const TableInput::Texts& options)
    : length_(static_cast<std::size_t>(options.length)), may_be_empty_(options.may_be_empty) {
  if (!options.vocabulary.empty()) vocabulary_.emplace(options.vocabulary, options.vocabulary_name);
}

void TextCells::read(TableCursor& at) {
  std::string_view text = at.read_word();
  if (at.is_mark(text)) text = {};
  if (text.empty() && !may_be_empty_) at.fail_at_empty("a text");
  // Bytes of another encoding would be other tokens for the same text. Only then is the place looked for.
  if (!is_utf8(text)) require_utf8(text, at.place_text());
  text_.clear();
  encode(text, at);
  text_.resize(length_, 0);
}

void TextCells::encode(std::string_view text, TableCursor& at) {
  if (!vocabulary_) {
    for (const char byte : text.substr(0, length_)) text_.push_back(static_cast<std::uint8_t>(byte));
    return;
  }
  const std::size_t end = vocabulary_->encode(text, length_, text_);
  if (end == text.size() || text_.size() == length_) return;
  const auto begins_character = [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; };
  const auto before = std::ranges::count_if(text.substr(0, end), begins_character);
  at.fail(
      fmt::format("expected a token of the vocabulary {}, found '{}' at character {} of the text; add it to the "
                  "vocabulary or remove it from the text",
                  vocabulary_->name(), shortened(text.substr(end, 16)), before + 1));
}

Array TextCells::take(std::int64_t rows, const std::string& origin) {
  Array array(dtype(), {rows, static_cast<std::int64_t>(length_)}, origin);
  array.tokens = different();
  with_element_type(array.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    std::ranges::transform(tokens_, array.span<T>().begin(), [](std::int32_t token) { return static_cast<T>(token); });
  });
  tokens_ = {};
  return array;
}

}  // namespace mirrortrain::data
