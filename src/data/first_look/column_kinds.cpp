#include "data/first_look/column_kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <ranges>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "data/pictures/picture_files.h"
#include "data/tables/mistaken_number.h"
#include "data/tables/parquet.h"
#include "report/format.h"

namespace mirrortrain::data {
namespace {

/// An id is worth a vector where rows have it this often, in the mean.
constexpr std::int64_t kRowsOfAnId = 2;

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

/// The words of a name in lower case: "userId", "user_id" and "User ID" have two.
std::vector<std::string> words_of_name(std::string_view name) {
  std::vector<std::string> words(1);
  char before = ' ';
  for (const char c : name) {
    const auto code = static_cast<unsigned char>(c);
    const bool begins = std::isupper(code) != 0 && std::isupper(static_cast<unsigned char>(before)) == 0;
    if ((begins || std::isalnum(code) == 0) && !words.back().empty()) words.emplace_back();
    if (std::isalnum(code) != 0) words.back() += c;
    before = c;
  }
  if (words.back().empty()) words.pop_back();
  for (std::string& word : words) word = in_lower_case(word);
  return words;
}

/// Whether numbers below this name are ids rather than amounts.
bool names_ids(const std::string& name) {
  const auto is_id = [](std::string_view word) { return is_one_of(word, {"id", "ids", "uid", "uuid", "guid"}); };
  const auto is_code = [](std::string_view word) {
    return is_one_of(word, {"code", "zip", "zipcode", "postcode", "sku", "isbn", "asin"});
  };
  const auto has_ids = [](std::string_view word) {
    return is_one_of(word,
                     {"user",   "item",   "customer", "client",  "member",  "product", "article", "movie",  "film",
                      "book",   "song",   "track",    "artist",  "author",  "store",   "shop",    "seller", "buyer",
                      "driver", "player", "team",     "student", "patient", "account", "session", "device"});
  };
  const std::vector<std::string> words = words_of_name(name);
  if (words.empty()) return false;
  if (is_id(words.front()) || is_id(words.back()) || is_code(words.back())) return true;
  if (words.size() > 1) return false;  // such as user_age
  std::string_view word = words.front();
  if (has_ids(word)) return true;
  if (!word.ends_with("id")) return false;
  word.remove_suffix(2);
  return has_ids(word);
}

std::string count_text(const TableColumn& column, const char* what) {
  return fmt::format("{} different {} in {} rows", report::with_thousands(column.different_values()), what,
                     report::with_thousands(column.rows()));
}

/// Whether words occur several times each; the most frequent does not count, beside which all others may be rare.
bool repeat(const TableColumn& column) {
  std::int64_t most = 0;
  for (const auto& [word, found] : column.words) most = std::max(most, found.count);
  return column.numbers + column.word_rows() - most >= kRowsOfAnId * (column.different_values() - 1);
}

bool have_no_letters(const TableColumn& column) {
  return std::ranges::all_of(column.words | std::views::keys, [](const std::string& word) {
    return std::ranges::none_of(
        word, [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || (c & 0x80) != 0; });
  });
}

/// Whether cells are sentences: of several words, and mostly different.
bool are_texts(const TableColumn& column) {
  constexpr std::int64_t kWordsOfAText = 5;
  if (column.words.size() <= kMostWords || kRowsOfAnId * column.different_values() <= column.word_rows()) return false;
  std::int64_t words = 0;
  for (const auto& [text, found] : column.words) {
    bool is_within = false;
    for (const char c : text) {
      const bool is_letter = std::isspace(static_cast<unsigned char>(c)) == 0;
      words += is_letter && !is_within ? 1 : 0;
      is_within = is_letter;
    }
  }
  return words >= kWordsOfAText * std::ssize(column.words) && column.numbers * 10 < column.word_rows();
}

/// Whether a word begins as 2024-01-31, 31.1.2024 or 1/31/24 does, or as 2024-01-31T12:30.
bool is_date(std::string_view word) {
  std::size_t parts = 1, digits = 0;
  for (const char c : word) {
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      if (++digits > 4) return false;
      continue;
    }
    if (digits == 0) return false;
    if (parts == 3) return c == ' ' || c == 'T';
    if (c != '-' && c != '.' && c != '/') return false;
    ++parts, digits = 0;
  }
  return parts == 3 && digits > 0;
}

bool are_dates(const TableColumn& column) {
  return column.has_words() && std::ranges::all_of(column.words, [](const auto& word) { return is_date(word.first); });
}

ColumnLook look_at_pictures(const TableColumn& column, const std::filesystem::path& folder) {
  ColumnLook look;
  std::int64_t named = 0, found_rows = 0;
  for (const auto& [path, found] : column.words) {
    if (!is_picture_name(path)) continue;
    named += found.count;
    std::string file = (folder / path).string();
    if (!is_below(path) || !is_file(file)) continue;
    found_rows += found.count;
    look.files.push_back(std::move(file));
  }
  if (2 * named <= column.rows()) return look;
  if (2 * found_rows <= named) {
    if (column.words.size() <= kMostWords) return look;  // that may stand for what is in the pictures
    return {ColumnKind::kNone, "most of the pictures that it names are not below the table's folder"};
  }
  look.kind = ColumnKind::kPictures;
  look.without_picture = column.rows() - found_rows;
  look.why =
      fmt::format("the paths of {} pictures, through convolutions", report::with_thousands(std::ssize(look.files)));
  return look;
}

/// Columns of which nothing can be made, whatever they are.
std::string why_unusable(const TableColumn& column, std::size_t columns, const Csv& csv) {
  constexpr std::int64_t kFewNumbers = 8;
  if (!column.has_words() && column.numbers == 0) return "it has no value";
  if (column.has_numbers() && column.has_missing() && column.numbers < kFewNumbers &&
      2 * column.numbers < column.rows()) {
    return "it has hardly any value";
  }
  if (columns > 2 && column.is_constant()) return "it is the same in every row";
  // Formatted numbers are not words.
  const std::vector<std::string> formatted = column.formatted_numbers(csv.decimal.front());
  if (formatted.empty() || (!column.is_mostly_numbers() && formatted.size() != column.words.size())) return "";
  return fmt::format("'{}' is no number to read; {}", formatted.front(),
                     mistaken_number(formatted.front(), csv.decimal.front()));
}

ColumnLook look_at_words(const TableColumn& column) {
  if (column.words.size() + (column.numbers > 0 ? column.different.size() : 0) <= kMostWords) return {};
  if (are_texts(column)) return {ColumnKind::kTexts, count_text(column, "texts") + ", read as bytes"};
  // Dates and other measures repeat, too, and amounts are numbers with a few words.
  const bool may_be_ids = names_ids(column.name) || (!have_no_letters(column) && 2 * column.numbers < column.rows());
  if (may_be_ids && repeat(column)) {
    return {ColumnKind::kIds, count_text(column, "words") + ": ids, as an embedding"};
  }
  if (are_dates(column)) {
    return {ColumnKind::kNone,
            "it has dates, which are not read; add columns of numbers, such as year, month and weekday"};
  }
  return {ColumnKind::kNone, fmt::format("it has more than {} different words", kMostWords)};
}

ColumnLook look_at_numbers(const TableColumn& column, std::size_t columns) {
  if (column.numbers_rows() && columns > 2) return {ColumnKind::kNone, "it numbers the rows"};
  if (!column.is_whole || column.different.size() <= kMostWords || !names_ids(column.name)) return {};
  if (column.has_more) {
    return {ColumnKind::kNone, fmt::format("it has more than {} different ids, too many to learn each",
                                           report::with_thousands(column.different_values()))};
  }
  if (kRowsOfAnId * column.different_values() <= column.numbers) {
    return {ColumnKind::kIds, count_text(column, "whole numbers") + ": ids, as an embedding"};
  }
  if (columns <= 2) return {};
  const bool repeats = column.different_values() < column.numbers;
  return {ColumnKind::kNone, repeats ? count_text(column, "ids") + ", too many to learn each" : "it names the rows"};
}

}  // namespace

ColumnLook look_at_column(const TableColumn& column, std::size_t columns, const Csv& csv,
                          const std::filesystem::path& folder) {
  if (!column.why_no_cells.empty()) return {ColumnKind::kNone, "it " + column.why_no_cells};
  if (is_index_of_pandas(column.name)) return {ColumnKind::kNone, "it is the index that pandas saved with the rows"};
  if (std::string why = why_unusable(column, columns, csv); !why.empty()) return {ColumnKind::kNone, std::move(why)};
  if (!column.has_words()) return look_at_numbers(column, columns);
  if (ColumnLook look = look_at_pictures(column, folder); look.kind != ColumnKind::kValues) return look;
  return look_at_words(column);
}

std::int64_t text_length(const TableColumn& column) {
  constexpr std::int64_t kShortest = 16, kLongest = 512, kUnit = 16;
  std::vector<std::int64_t> lengths;
  for (const auto& [text, found] : column.words) lengths.push_back(std::ssize(text));
  const auto most = lengths.begin() + std::ssize(lengths) * 95 / 100;
  std::ranges::nth_element(lengths, most);
  return std::clamp((*most + kUnit - 1) / kUnit * kUnit, kShortest, kLongest);
}

}  // namespace mirrortrain::data
