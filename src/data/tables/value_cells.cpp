#include "data/tables/value_cells.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <variant>

#include "base/files.h"
#include "base/utf8.h"
#include "data/fields.h"

namespace mirrortrain::data {
namespace {

constexpr auto kMost = static_cast<double>(std::numeric_limits<float>::max());

}  // namespace

std::string many_words_text(const std::string& place) {
  return fmt::format("{}: expected at most {} different words in a column; use another column", place, kMostOfColumn);
}

double read_number(TableCursor& at, bool may_be_missing) {
  CsvText& text = at.text();
  const char* const start = text.position();
  if (const std::optional<double> value = text.number<double>()) {
    const bool is_finite = std::abs(*value) <= kMost, is_missing = at.is_mark(*value);
    if (is_missing && may_be_missing) return std::numeric_limits<double>::quiet_NaN();
    if (is_finite && !is_missing) return *value;
    text.go_back(start);
  }
  if (may_be_missing && at.passes_missing_number()) return std::numeric_limits<double>::quiet_NaN();
  at.fail_at_number();
}

namespace {

std::string_view found_word(TableCursor& at, bool may_be_missing) {
  std::string_view found = at.read_word();
  if (at.is_mark(found)) found = {};
  if (found.empty() && !may_be_missing) at.fail_at_empty("a word");
  return found;
}

}  // namespace

std::string_view read_plain_word(TableCursor& at, bool may_be_missing) {
  const std::string_view found = found_word(at, may_be_missing);
  if (!is_utf8(found)) require_utf8(found, at.place_text());
  return found;
}

std::int64_t read_integer(TableCursor& at) {
  const std::string_view text = at.read_word();
  std::int64_t number = 0;
  const auto [after, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && after == text.data() + text.size()) return number;
  at.fail(
      fmt::format("expected a whole number, as the crossing's 'integers' says, found {}; correct it, or leave the "
                  "column out of 'integers'",
                  text.empty() ? "an empty cell" : fmt::format("'{}'", shortened(std::string(text)))));
}

double read_word(TableCursor& at, bool may_be_missing, WordList& words) {
  const std::string_view found = found_word(at, may_be_missing);
  const std::int64_t number = number_of(found, words, at);
  if (number >= kMostOfColumn) throw NotToBeLeftOut(many_words_text(at.place_text()));
  return static_cast<double>(number);
}

double read_known_word(TableCursor& at, bool may_be_missing, const WordList& words) {
  return known_number_of(found_word(at, may_be_missing), words, at);
}

double known_number_of(std::string_view word, const WordList& words, const TableCursor& at) {
  const std::int64_t number = words.find(word);
  if (number >= 0) return static_cast<double>(number);
  at.fail(fmt::format("the word '{}' was not here before", shortened(std::string(word))));
}

std::int64_t number_of(std::string_view word, WordList& words, const TableCursor& at) {
  const std::int64_t known = words.size(), number = words.number_of(word);
  // Done only for new words: finding the line takes longer the farther it is.
  if (words.size() > known && !is_utf8(word)) {
    words.forget_last();
    require_utf8(word, at.place_text());
  }
  return number;
}

WordBins::WordBins(const Encoding& encoding) : encoding_(encoding) {
  const auto* const hashing = std::get_if<HashingEncoding>(&encoding_);
  if (hashing != nullptr) bins_.emplace(hashing->num_bins, hashing->salt, hashing->masks());
}

std::int64_t WordBins::operator()(std::string_view word) const {
  if (const auto* const hash = std::get_if<HashEncoding>(&encoding_)) {
    return crc32_of(std::as_bytes(std::span(word))) % hash->bins;
  }
  const auto& hashing = std::get<HashingEncoding>(encoding_);
  return bins_->masks() && word == *hashing.mask_value ? 0 : (*bins_)(word);
}

double read_weight(TableCursor& at) {
  if (at.text().empty_cell()) at.fail("expected a weight, found an empty cell; fill it in or remove the row");
  const std::optional<double> value = at.text().whole_number<double>();
  if (value && is_weight(*value)) return *value;
  at.fail(fmt::format("expected a weight, which is a number from 0, found '{}'", shortened(at.raw_cell())));
}

}  // namespace mirrortrain::data
