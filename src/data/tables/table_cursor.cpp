#include "data/tables/table_cursor.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/utf8.h"

namespace mirrortrain::data {

Following following_in(CsvText& text, std::size_t at, std::size_t column, const std::vector<std::string>& marks,
                       bool is_cut) {
  std::string buffer;
  for (const char* row = text.position();;) {
    if (at == 0) {
      if (text.at_end()) return Following::kNothing;
      row = text.position();
    }
    const char* const cell = text.position();
    const std::string_view found = text.word(buffer);
    const bool is_missing = found.empty() || std::ranges::find(marks, found) != marks.end() || is_missing_mark(found);
    const CsvText::After after = text.next();
    if (is_cut && text.rest().empty()) {
      text.go_back(row);
      return Following::kNothing;
    }
    if (at == column && !is_missing) {
      text.go_back(cell);
      return text.whole_number<double>() ? Following::kNumber : Following::kOther;
    }
    if (after == CsvText::After::kGarbage) return Following::kOther;  // which is reported where it is read
    at = after == CsvText::After::kCell ? at + 1 : 0;
  }
}

TableCursor::TableCursor(const Csv& options, const CsvReading& reading, const AdaptedTable& columns)
    : options_(options), reading_(reading), columns_(columns) {
  for (const std::string& mark : columns.missing_values) {
    if (const auto number = number_in(mark, options.decimal.front())) number_marks_.push_back(*number);
  }
}

void TableCursor::open(const CsvFile& file, CsvText& text, const ColumnUses& uses) {
  file_ = &file;
  text_ = &text;
  uses_ = &uses;
  row_ = file.first_row();
  row_begin_ = cell_ = text_->position();
}

void TableCursor::pass_separator() {
  const char* const start = text_->position();
  const CsvText::After after = text_->next();
  const bool last = column_ + 1 == uses_->size();
  if (after == (last ? CsvText::After::kLine : CsvText::After::kCell)) return;
  fail_without_reason();
  if (after == CsvText::After::kGarbage) {
    std::string hint =
        *text_->position() == '\r' ? "; lines end with CR alone here: save the file with LF or CRLF" : number_hint();
    const auto is_of_numbers = [](const ColumnUse& use) { return use.kind == ColumnUse::Kind::kNumber; };
    if (hint.empty() && std::ranges::any_of((*uses_)[column_], is_of_numbers)) hint = word_column_hint();
    fail(fmt::format("expected a number and then {} or the end of the line, found '{}'{}", text_->delimiter_name(),
                     shortened(raw_cell()), hint),
         start);
  }
  fail(fmt::format("expected {} cells as in the first line, found {}", uses_->size(),
                   last ? "more" : std::to_string(column_ + 1)),
       start);
}

std::string_view TableCursor::read_word() {
  const std::string_view found = text_->word(buffer_);
  if (!text_->closed()) fail("a quote begins here and is never closed");
  return found;
}

bool TableCursor::passes_missing_number() {
  if (text_->empty_cell()) return true;
  const char* const start = text_->position();
  const std::string_view found = read_word();
  if (found.empty() || is_mark(found) || is_missing_mark(found)) return true;
  text_->go_back(start);
  return false;
}

bool TableCursor::numbers_follow() const {
  CsvText text = *text_;
  text.go_back(cell_);
  const Following found = following_in(text, column_, column_, columns_.missing_values);
  if (found != Following::kNothing) return found == Following::kNumber;
  return reading_.numbers_follow && reading_.numbers_follow(column_);
}

bool TableCursor::is_mark(std::string_view text) const {
  return std::ranges::find(columns_.missing_values, text) != columns_.missing_values.end();
}

bool TableCursor::is_mark(double number) const {
  return std::ranges::find(number_marks_, number) != number_marks_.end();
}

std::string TableCursor::plain_cell() const {
  const std::string_view cell = text_->raw_cell(cell_);
  return cell.starts_with('"') ? std::string(CsvText(*text_).cell()) : std::string(cell);
}

std::string TableCursor::place_text(const char* place) const {
  const FirstLine& line = file_->first_line();
  const std::string column = line.header.empty()
                                 ? fmt::format("column {}", column_)
                                 : fmt::format("column {} ('{}')", column_, shortened(line.header[column_]));
  // Of other text than the file's neither row nor line are known.
  if (text_ != &file_->text()) return fmt::format("{}: {}", line.file, column);
  const std::string at = line.has_lines ? fmt::format(":{}", file_->line_of(row_, place)) : "";
  return fmt::format("{}{}: row {} (counting from 0), {}", line.file, at, row_, column);
}

/// Throws Error without a text where rows are left out and reasons are no longer kept: finding the line takes longer
/// the farther it is, and hints are looked for in other rows.
void TableCursor::fail_without_reason() const {
  if (reading_.bad != nullptr && !reading_.bad->wants_reason()) throw Error("");
}

void TableCursor::fail(const std::string& message, const char* place) const {
  fail_without_reason();
  throw Error(fmt::format("{}: {}", place_text(place), message));
}

void TableCursor::fail_at_empty(const char* expected) const {
  fail(fmt::format("expected {}, found an empty cell; fill it in{}", expected,
                   reading_.wants_labels
                       ? ", remove the row, or say in 'missing' what an empty feature stands for"
                       : " or remove the row: the model was trained without missing values, and learns of them "
                         "in a new run with 'missing' in data.train"));
}

void TableCursor::fail_at_number() {
  fail_without_reason();
  if (text_->empty_cell()) fail_at_empty("a number");
  const bool is_word = !is_nonfinite_number();
  const std::string hints[] = {missing_hint(), number_hint(), size_hint(),
                               is_word ? word_column_hint() : "; correct it or remove the row"};
  const auto fitting = std::ranges::find_if(hints, [](const std::string& one) { return !one.empty(); });
  read_word();
  fail(fmt::format("expected a finite number, found '{}'{}", shortened(raw_cell()),
                   fitting != std::end(hints) ? *fitting : ""));
}

}  // namespace mirrortrain::data
