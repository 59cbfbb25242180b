// What is probably meant by cells of a table that are not numbers.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/utf8.h"
#include "data/pictures/picture_files.h"
#include "data/tables/mistaken_number.h"
#include "data/tables/table_cursor.h"

namespace mirrortrain::data {

namespace {

/// "; paths of pictures are an input of their own: ..." for a cell that is the name of a picture or a text of several
/// words, which no encoding of words is meant for; "" for other cells.
std::string content_hint(const std::string& cell, const std::string& column) {
  constexpr std::ptrdiff_t kFewestSpaces = 3;
  const std::string name = column.empty() ? "COLUMN" : shortened(column);
  if (is_picture_name(cell)) {
    return fmt::format(
        "; a column of pictures is an input of the model: inputs: {{INPUT: {{column: {}, as: picture, image_size: [64, "
        "64]}}}}, or is left out",
        name);
  }
  if (std::ranges::count(cell, ' ') < kFewestSpaces) return "";
  return fmt::format(
      "; a column of texts is an input of the model: inputs: {{INPUT: {{column: {}, as: text, length: 64}}}}, or is "
      "left out",
      name);
}

}  // namespace

std::string TableCursor::word_column_hint() const {
  if (reading_.adapted != nullptr && !reading_.adapted->table && !reading_.wants_labels) {
    return "; the run was not trained on a table, so no column is taken for a label: remove what is no feature";
  }
  if (const std::int64_t numbers = reading_.wants_labels ? numbers_beside() : 0; numbers > 0) {
    return fmt::format(
        "; {} other cells of the column are numbers: correct this one, or, if it stands for a missing value, list "
        "it, as missing_values: [\"{}\"], and say in 'missing' what that stands for, as missing: mean",
        numbers, shortened(plain_cell()));
  }
  const std::vector<std::string>& header = file_->first_line().header;
  if (const std::string content = content_hint(plain_cell(), header.empty() ? "" : header[column_]); !content.empty()) {
    return content;
  }
  return fmt::format("; a column of words needs an encoding, as in 'encoding: {{{}: one_hot}}', or is left out {}",
                     header.empty() ? std::to_string(column_) : shortened(header[column_]),
                     options_.inputs.empty() ? "where 'features' lists the others" : "of 'inputs'");
}

/// The number of cells of the column that are numbers, among the next 1,000 and all previous ones; 0 if many are
/// words.
std::int64_t TableCursor::numbers_beside() const {
  constexpr std::int64_t kMostRows = 1000, kFewest = 8;
  std::int64_t numbers = row_, words = 0;
  CsvText text = *text_;
  text.go_back(row_begin_);
  for (std::int64_t row = 0; row < kMostRows && !text.at_end(); ++row) {
    for (std::size_t column = 0; column < column_; ++column) {
      text.cell();
      if (text.next() != CsvText::After::kCell) return 0;
    }
    if (text.whole_number<double>()) {
      ++numbers;
    } else if (!text.empty_cell() && !looks_missing(CsvText(text).cell())) {
      ++words;
    }
    text.pass_row(text.position());
  }
  return numbers > kFewest && words * 10 < numbers ? numbers : 0;
}

std::string TableCursor::number_hint() const {
  const std::string cell = plain_cell();
  const std::string found = mistaken_number(cell, options_.decimal.front());
  if (!found.empty()) return "; " + found;
  return decimal_comma_hint(cell);
}

/// A hint for 1,5 if cells are not separated by commas, and for "1,5"; "" for other cells.
std::string TableCursor::decimal_comma_hint(std::string cell) const {
  const std::size_t comma = cell.find(',');
  if (comma == std::string::npos || comma == 0 || comma + 1 == cell.size()) return "";
  cell[comma] = '.';
  CsvText number(cell);
  if (!number.whole_number<double>()) return "";
  std::string setting = "set `decimal: \",\"`";
  if (!reading_.wants_labels) {  // new data, which the configuration does not describe
    if (options_.key.empty()) return fmt::format("; write numbers with a decimal point, as {}", shortened(cell));
    setting = fmt::format("give `--set {}.decimal=,`", options_.key);
  }
  return fmt::format("; if the file's numbers have commas, {}, else write {}", setting, shortened(cell));
}

/// The error for numbers that need more bits; "" for other cells.
std::string TableCursor::size_hint() const {
  const std::string cell = plain_cell();
  double value = 0;
  const auto [after, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  const bool is_too_large = error == std::errc::result_out_of_range || (error == std::errc() && std::isfinite(value));
  if (after != cell.data() + cell.size() || !is_too_large) return "";
  return "; float32 holds numbers up to 3.4e38: divide the column's numbers by a constant";
}

bool TableCursor::is_nonfinite_number() const {
  std::string cell(text_->raw_cell(cell_));
  double value = 0;
  const auto [after, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  return after == cell.data() + cell.size() && (error != std::errc() || !std::isfinite(value));
}

/// The remedy for a cell that represents a missing value; "" for other cells.
std::string TableCursor::missing_hint() const {
  const std::string cell = plain_cell();
  double number = 0;
  const auto [after, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  const bool is_number = error == std::errc() && after == cell.data() + cell.size();
  const bool is_listed = is_mark(cell) || (is_number && is_mark(number));
  if (!is_listed && !looks_missing(cell)) return "";
  const bool is_known = is_listed || is_missing_mark(cell);
  if (!reading_.wants_labels) return "; the model was trained without missing values: correct it or remove the row";
  const std::string value = "what a missing value stands for, as missing: mean";
  if (is_known) return "; say in 'missing' " + value;
  return fmt::format(
      "; if it stands for a missing value, list it, as missing_values: [\"{}\"], and say in 'missing' {}",
      shortened(cell), value);
}

}  // namespace mirrortrain::data
