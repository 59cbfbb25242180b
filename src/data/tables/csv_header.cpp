// Whether a csv file's first line is a header.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/error.h"
#include "base/utf8.h"
#include "data/tables/csv_file.h"
#include "data/tables/found_rows.h"

namespace mirrortrain::data {
namespace {

bool is_number_cell(const std::string& cell, char point) { return number_in(cell, point).has_value(); }

/// Whether numbers are 0, 1, 2, ... or 2019, 2020, 2021, ...
bool count_up(const std::vector<std::string>& cells) {
  constexpr std::size_t kFewest = 3;
  std::vector<std::int64_t> numbers;
  for (const std::string& cell : cells) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
    if (error != std::errc() || end != cell.data() + cell.size()) return false;
    if (!numbers.empty() && number != numbers.back() + 1) return false;
    numbers.push_back(number);
  }
  return numbers.size() >= kFewest;
}

}  // namespace

bool CsvFile::looks_like_header(const std::vector<std::string>& cells, std::int64_t line, const Csv& options,
                                const std::vector<std::string>* known) {
  const char point = options.decimal.front();
  const auto numbers = static_cast<std::size_t>(
      std::ranges::count_if(cells, [&](const std::string& cell) { return is_number_cell(cell, point); }));
  if (known != nullptr && !known->empty()) {
    const auto is_known = [&](const std::string& cell) { return std::ranges::find(*known, cell) != known->end(); };
    if (std::ranges::any_of(cells, is_known)) return true;
    const auto differs_in_case = [&](const std::string& cell) {
      const auto is_same = [&](const std::string& name) { return in_lower_case(name) == in_lower_case(cell); };
      return std::ranges::any_of(*known, is_same);
    };
    if (numbers == 0 && std::ranges::all_of(cells, differs_in_case)) {
      throw Error(
          fmt::format("{}:{}: the first line ({}) has the names of the columns in other letters: they are {}; write "
                      "them so",
                      line_.file, line, shortened(fmt::format("{}", fmt::join(cells, ", ")), 80),
                      shortened(fmt::format("{}", fmt::join(*known, ", ")), 80)));
    }
    if (cells.size() == known->size() && numbers < cells.size()) {
      remarks_.push_back(
          fmt::format("{}:{}: the first line has none of the names of the columns ({}), so that it is "
                      "taken for an example; if it is a header, write header: true",
                      line_.file, line, shortened(fmt::format("{}", fmt::join(*known, ", ")), 80)));
      return false;
    }
  }
  if (known == nullptr && names_columns(options)) return true;
  if (numbers == cells.size()) {
    if (count_up(cells)) {
      remarks_.push_back(
          fmt::format("{}:{}: the first line counts up ({}), as the header of a table whose columns have "
                      "no names does, and is taken for an example; if it is a header, write header: "
                      "true, else header: false",
                      line_.file, line, shortened(fmt::format("{}", fmt::join(cells, ", ")), 80)));
    }
    return false;
  }
  if (numbers == 0) return words_name_columns(cells, point);
  throw MayBeHeader(
      fmt::format("{}:{}: some cells of the first line are numbers and some are not, so that it may be a header or "
                  "not; say 'header: true' or 'header: false'",
                  line_.file, line));
}

/// Whether a first line of words is a header, judged by the lines below it: a column of numbers has a word as its name,
/// and names rarely recur as words.
bool CsvFile::words_name_columns(const std::vector<std::string>& cells, char point) {
  has_looked_below_ = true;
  constexpr int kMostLines = 1000;
  CsvText text = text_;
  std::vector<bool> has_numbers(cells.size(), false), has_words(cells.size(), false);
  bool recurs = std::set<std::string>(cells.begin(), cells.end()).size() < cells.size();
  bool has_lines = false;
  for (int i = 0; i < kMostLines && !text.at_end(); ++i) {
    has_lines = true;
    std::vector<std::string> row;
    CsvText::After after = CsvText::After::kCell;
    while (after == CsvText::After::kCell) {
      row.push_back(text.cell());
      after = text.next();
    }
    if (row == cells) {  // a duplicate row, or a header in concatenated files
      recurs = true;
      continue;
    }
    for (std::size_t column = 0; column < std::min(row.size(), cells.size()); ++column) {
      if (row[column].empty() || looks_missing(row[column])) continue;
      (is_number_cell(row[column], point) ? has_numbers : has_words)[column] = true;
      recurs = recurs || row[column] == cells[column];
    }
    if (after == CsvText::After::kGarbage) break;  // reported when it is read
  }
  for (std::size_t column = 0; column < cells.size(); ++column) {
    if (has_numbers[column] && !has_words[column]) return true;
  }
  const std::int64_t line = text_.line(text_.position()) - 1;
  const std::string shown = shortened(fmt::format("{}", fmt::join(cells, ", ")), 80);
  if (recurs) {
    remarks_.push_back(
        fmt::format("{}:{}: the first line ({}) has words that occur below it, so that it is taken for an "
                    "example; if it is a header, write header: true, else header: false",
                    line_.file, line, shown));
  } else if (has_lines) {
    remarks_.push_back(
        fmt::format("{}:{}: the first line ({}) is taken for a header, though the lines below it are "
                    "words too; if it is an example, write header: false, else header: true",
                    line_.file, line, shown));
  }
  return !recurs;
}

bool CsvFile::repeats_header() const { return begins_with_header(text_.rest(), header_text_); }

}  // namespace mirrortrain::data
