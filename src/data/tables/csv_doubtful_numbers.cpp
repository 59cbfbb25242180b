// Numbers of a csv file that may mean something else.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/utf8.h"
#include "data/tables/csv_file.h"

namespace mirrortrain::data {
namespace {

/// Whether a text is 1 to 3 digits, the first of which is not 0, followed by a point and three digits, as 2.801.
bool is_grouped_by_points(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.starts_with('-')) text.remove_prefix(1);
  const std::size_t point = text.find('.');
  return point >= 1 && point <= 3 && text.size() == point + 4 && text[0] != '0' &&
         std::ranges::all_of(text.substr(0, point), is_digit) && std::ranges::all_of(text.substr(point + 1), is_digit);
}

}  // namespace

std::map<std::size_t, std::string> CsvFile::doubtful_numbers() const {
  constexpr int kMostLines = 1000;
  constexpr std::size_t kMostCells = 100'000;
  struct Numbers {
    std::int64_t grouped = 0;  ///< as 2.801
    std::string code;          ///< as 01234
    double code_value = 0;
    double largest = 0;  ///< of numbers without a point
    bool has_others = false;
    std::string example;
  };
  std::vector<Numbers> columns(static_cast<std::size_t>(line_.columns));
  CsvText text = text_;
  std::string buffer;
  for (std::size_t line = 0; line < kMostLines && line * columns.size() < kMostCells && !text.at_end(); ++line) {
    CsvText::After after = CsvText::After::kCell;
    for (std::size_t column = 0; after == CsvText::After::kCell && column < columns.size(); ++column) {
      const std::string_view cell = text.word(buffer);
      Numbers& numbers = columns[column];
      if (is_grouped_by_points(cell)) {
        ++numbers.grouped;
        if (numbers.example.empty()) numbers.example = cell;
      } else if (std::ranges::all_of(cell, [](char c) { return c >= '0' && c <= '9'; })) {
        if (cell.size() > 3) numbers.has_others = true;
        double value = 0;
        const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
        // Hundreds of digits, as of bits, can be beyond the range of numbers.
        if (error == std::errc() && cell.size() > 3 && cell[0] == '0' && numbers.code.empty()) {
          numbers.code = cell;
          numbers.code_value = value;
        }
        numbers.largest = std::max(numbers.largest, value);
      } else {
        numbers.has_others = true;
      }
      after = text.next();
    }
    if (after != CsvText::After::kLine) break;  // reported when it is read
  }
  std::map<std::size_t, std::string> doubtful;
  for (std::size_t column = 0; column < columns.size(); ++column) {
    const auto& [grouped, code, code_value, largest, has_others, example] = columns[column];
    const std::string name =
        line_.header.empty() ? std::to_string(column) : fmt::format("'{}'", shortened(line_.header[column]));
    if (!code.empty()) {
      doubtful[column] = fmt::format(
          "{0}: column {1}: {2} is read as the number {3:g}; if these are codes, as of places or articles, encode "
          "them, as encoding: {{{4}: one_hot}}",
          line_.file, name, shortened(code), code_value,
          line_.header.empty() ? std::to_string(column) : shortened(line_.header[column]));
      continue;
    }
    if (text_.decimal_point() != '.' || has_others || grouped < 2 || largest < 100) continue;
    std::string plain = example;
    std::erase(plain, '.');
    doubtful[column] = fmt::format(
        "{}: column {}: {} is read as a number below 1000, though those without a point reach {:g}; if its point "
        "separates thousands, write {}",
        line_.file,
        line_.header.empty() ? std::to_string(column) : fmt::format("'{}'", shortened(line_.header[column])), example,
        largest, plain);
  }
  return doubtful;
}

}  // namespace mirrortrain::data
