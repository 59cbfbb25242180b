#include "data/tables/csv_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/utf8.h"
#include "config/scalar.h"
#include "data/tables/found_rows.h"

namespace mirrortrain::data {

namespace {

constexpr std::size_t kRowsPiece = std::size_t{1} << 16;
/// So far a file is searched for the first end of a line.
constexpr std::size_t kLongestFirstLine = std::size_t{1} << 20;

}  // namespace

bool TextAhead::read_more() {
  if (ended_) return false;
  if (begin_ > 0) text_.erase(0, std::exchange(begin_, 0));
  const std::size_t before = text_.size();
  // A row that is longer than a piece is looked at again: pieces grow with it.
  ended_ = !input_->read(text_, std::max(kRowsPiece, before));
  if (returns_end_lines_) std::replace(text_.begin() + static_cast<std::ptrdiff_t>(before), text_.end(), '\r', '\n');
  return !ended_;
}

void TextAhead::pass(std::size_t bytes) {
  const std::string_view passed = text().substr(0, bytes);
  line_ += std::ranges::count(passed, '\n');
  begin_ += bytes;
}

void TextAhead::pass_byte_order_mark() {
  constexpr std::size_t kMarkBytes = 3;
  while (text().size() < kMarkBytes && read_more()) {
  }
  pass(text().size() - without_byte_order_mark(text()).size());
}

void TextAhead::end_lines_with_return() {
  returns_end_lines_ = true;
  std::ranges::replace(text_, '\r', '\n');
}

CsvRows::CsvRows(TextAhead text, const Csv& options, const std::vector<std::string>* known)
    : ahead_(std::move(text)), options_(options), known_(known) {}

/// The next row from `from` on, behind blank lines, with the end of its line; null if it is not in memory.
std::optional<CsvRows::Range> CsvRows::row_from(std::size_t from) const {
  const std::string_view text = ahead_.text();
  CsvText row(text.substr(from), delimiter_);
  if (row.at_end()) return std::nullopt;
  const auto begin = static_cast<std::size_t>(row.position() - text.data());
  const std::size_t line_end = text.find('\n', begin);
  if (line_end != text.npos && text.substr(begin, line_end - begin).find('"') == text.npos) {
    return Range{begin, line_end + 1};
  }
  const bool is_closed = row.pass_row(row.position());
  const auto end = static_cast<std::size_t>(row.position() - text.data());
  if (is_closed && text[end - 1] == '\n') return Range{begin, end};
  return ahead_.is_whole() ? std::optional(Range{begin, text.size()}) : std::nullopt;
}

/// Reads more where the row from `from` on is not in memory; returns false if there is none. Throws Error for a row
/// that would take too much.
bool CsvRows::read_on(std::size_t from) {
  const std::string_view text = ahead_.text();
  if (ahead_.parquet() == nullptr && text.size() - from > kLongestRow) {
    CsvText row(text.substr(from), delimiter_);
    row.at_end();  // behind blank lines
    fail_at_long_row(ahead_.name(), ahead_.line() + std::count(text.data(), row.position(), '\n'));
  }
  return ahead_.read_more();
}

void CsvRows::pass_blank_lines() {
  do {
    CsvText text(ahead_.text(), delimiter_);
    text.at_end();
    ahead_.pass(static_cast<std::size_t>(text.position() - ahead_.text().data()));
  } while (ahead_.text().empty() && ahead_.read_more());
}

const CsvRows::Beginning& CsvRows::begin() {
  if (!beginning_) read_beginning();
  return *beginning_;
}

/// Reads until the first row is in memory, and knows its delimiter; returns false where more has to be read.
bool CsvRows::read_first_row() {
  if (ahead_.text().find('\n') == std::string_view::npos && !ahead_.is_whole()) {
    if (ahead_.text().size() < kLongestFirstLine) return false;
    if (ahead_.text().find('\r') == std::string_view::npos) return false;
  }
  if (ahead_.text().find('\n') == std::string_view::npos) ahead_.end_lines_with_return();
  if (ahead_.is_whole()) return true;
  if (!CsvFile::knows_delimiter(ahead_.text(), options_)) return false;
  delimiter_ = CsvFile::likely_delimiter(ahead_.text(), options_);
  return row_from(0).has_value();
}

void CsvRows::read_beginning() {
  ahead_.pass_byte_order_mark();
  if (ahead_.parquet() != nullptr) options_ = options_of_made_lines(options_);
  // What rows below the first say of it is said by as many of them from a pipe as from a file.
  constexpr std::int64_t kMostRows = 1001;
  for (std::int64_t least = 1; !beginning_; least = kMostRows) {
    while (!read_first_row()) {
      if (read_on(0)) continue;
      read_first_row();  // now that it is known to be whole
      break;
    }
    delimiter_ = CsvFile::likely_delimiter(ahead_.text(), options_);
    std::size_t end = 0;
    for (std::int64_t rows = 0; rows < least;) {
      if (const auto row = row_from(end)) {
        end = row->end;
        ++rows;
      } else if (!read_on(end) && !row_from(end)) {
        break;
      }
    }
    // With all that is in memory, by which the delimiter was found.
    TableForm form{ahead_.parquet() == nullptr};
    if (!form.is_of_lines) {
      for (const auto& column : ahead_.parquet()->columns()) form.why_no_cells.push_back(column.why_no_cells);
    }
    const CsvFile file(ahead_.name(), ahead_.text(), options_, known_, form);
    if (file.has_looked_below() && least < kMostRows) continue;
    remarks_ = file.remarks();
    beginning_ = {file.first_line(), delimiter_, options_.decimal.front(), std::string(file.header_text())};
  }
  if (!beginning_->line.header.empty()) ahead_.pass(row_from(0)->end);
}

std::vector<std::string> CsvRows::names() {
  const FirstLine& line = begin().line;
  if (!line.header.empty()) return line.header;
  std::vector<std::string> numbers;
  for (std::int64_t i = 0; i < line.columns; ++i) numbers.push_back(std::to_string(i));
  return numbers;
}

void CsvRows::want(const std::vector<std::string>& columns) {
  const std::vector<std::string> known = names();
  for (const std::string& column : columns) {
    const auto found = std::ranges::find(known, column);
    if (found == known.end()) {
      throw Error(fmt::format("{}: there is no column '{}' to keep; the columns are {}{}", ahead_.name(),
                              shortened(column), shortened(fmt::format("{}", fmt::join(known, ", ")), 200),
                              config::suggestion(column, known)));
    }
    wanted_.push_back(static_cast<std::size_t>(found - known.begin()));
  }
}

/// Whether the header occurs again, as in concatenated files, at a place where a row begins.
bool CsvRows::repeats_header(std::size_t at) const {
  return begins_with_header(ahead_.text().substr(at), beginning_->header);
}

/// Goes to the next row, so that all of it is in memory; returns false at the end.
bool CsvRows::go_to_row() {
  begin();
  while (true) {
    pass_blank_lines();
    const auto row = row_from(0);
    if (!row) {
      if (!read_on(0) && !row_from(0)) return false;
    } else if (repeats_header(row->begin)) {
      if (repeated_headers_++ == 0) first_repeated_ = fmt::format("{}:{}", ahead_.name(), ahead_.line());
      ahead_.pass(row->end);
    } else {
      return true;
    }
  }
}

bool CsvRows::at_end() {
  if (go_to_row()) return false;
  if (repeated_headers_ > 0) {
    remarks_.push_back(repeated_header_text(first_repeated_, repeated_headers_));
    repeated_headers_ = 0;
  }
  return true;
}

std::vector<std::vector<std::string>> CsvRows::cells_in(CsvText text) const {
  std::vector<std::vector<std::string>> rows;
  while (!wanted_.empty() && !text.at_end()) {
    std::vector<std::string> cells;
    CsvText::After after = CsvText::After::kCell;
    while (after == CsvText::After::kCell) {
      cells.push_back(text.cell());
      after = text.next();
    }
    if (after == CsvText::After::kGarbage) text.pass_row(text.position());
    std::vector<std::string>& row = rows.emplace_back();
    for (const std::size_t place : wanted_) row.push_back(place < cells.size() ? cells[place] : "");
  }
  return rows;
}

std::optional<TablePart> CsvRows::next(std::int64_t most) {
  if (at_end()) return std::nullopt;
  std::size_t end = row_from(0)->end;
  std::int64_t rows = 1;
  while (rows < most) {
    const auto row = row_from(end);
    if (row && repeats_header(row->begin)) break;  // which the next part begins behind
    if (row) {
      end = row->end;
      ++rows;
    } else if (ahead_.has_more_now() && ahead_.text().size() - end <= kLongestRow) {
      ahead_.read_more();
    } else {
      break;
    }
  }
  const Beginning& beginning = *beginning_;
  TablePart part;
  part.rows.emplace(beginning.line, ahead_.text().substr(0, end), beginning.delimiter, beginning.point,
                    CsvPlaces{ahead_.line(), row_});
  part.count = rows;
  part.cells = cells_in(part.rows->text());
  ahead_.pass(end);
  row_ += rows;
  return part;
}

}  // namespace mirrortrain::data
