#include "data/tables/csv_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <ranges>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "data/files/parquet_input.h"

namespace mirrortrain::data {
namespace {

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> starts) {
  return std::ranges::any_of(starts, [&](std::string_view start) { return text.starts_with(start); });
}

/// The actual format of a file that only its name calls CSV, with the remedy; "" if it may be CSV.
std::string_view other_format(std::string_view text) {
  if (text.starts_with("PK\x03\x04")) return "a zip archive, as .xlsx files are; save the sheet as CSV";
  if (is_parquet(text)) return "a Parquet file that was compressed as a whole; unpack it, as its pages are compressed";
  if (starts_with_any(text, {"\xff\xfe", "\xfe\xff"})) return "UTF-16; save it as UTF-8";
  if (text.substr(0, 4096).find('\0') != text.npos) return "bytes that are not text; save it as UTF-8 or ASCII";
  const std::string_view begin = text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  if (starts_with_any(begin, {"<!DOCTYPE", "<!doctype", "<html", "<HTML"})) {
    return "HTML, as of a page in the place of a download; fetch the file itself";
  }
  if (starts_with_any(begin, {"{\"", "[{", "{ \""}))
    return "JSON; write one example per line with commas between cells";
  return "";
}

/// Whether a line consists of numbers or words separated only by spaces.
bool is_separated_by_spaces(const std::string& line, char point) {
  std::size_t numbers = 0;
  for (const auto part : std::views::split(line, ' ')) {
    numbers += number_in(std::string(part.begin(), part.end()), point) ? 1 : 0;
  }
  return numbers > 1;
}

Bytes copied(std::string_view text, const std::string& name) {
  Bytes bytes(text.size(), name);
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

}  // namespace

CsvFile::CsvFile(const std::string& path, const Csv& options, const std::vector<std::string>* known,
                 const std::optional<std::set<std::string>>& wanted)
    : CsvFile(path, read_table_text(path, wanted), options, known) {}

CsvFile::CsvFile(const std::string& path, TableText text, const Csv& options, const std::vector<std::string>* known)
    : CsvFile(path, std::move(text.bytes), text.form.is_of_lines ? options : options_of_made_lines(options), known,
              text.form.is_of_lines) {
  line_.why_no_cells = std::move(text.form.why_no_cells);
}

CsvFile::CsvFile(const std::string& name, std::string_view beginning, const Csv& options,
                 const std::vector<std::string>* known, const TableForm& form)
    : CsvFile(name, TableText{copied(beginning, name), form}, options, known) {}

CsvFile::CsvFile(const std::string& name, Bytes bytes, const Csv& options, const std::vector<std::string>* known,
                 bool is_of_lines)
    : line_{.file = name, .header = {}, .has_lines = is_of_lines},
      bytes_(std::move(bytes)),
      text_(content(), likely_delimiter(content(), options), options.decimal.front()) {
  read_first_line(options, known);
}

CsvFile::CsvFile(FirstLine line, std::string_view rows, char delimiter, char point, CsvPlaces places)
    : line_(std::move(line)),
      bytes_(copied(rows, line_.file)),
      text_({reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}, delimiter, point),
      places_(std::move(places)) {}

void CsvFile::forget_rows() {
  const std::size_t end = offset();
  const auto* const begin = reinterpret_cast<const char*>(bytes_.data());
  Bytes kept = copied({begin, end}, line_.file);
  const std::string_view text(reinterpret_cast<const char*>(kept.data()), kept.size());
  if (!header_text_.empty()) {
    header_text_ = text.substr(static_cast<std::size_t>(header_text_.data() - begin), header_text_.size());
  }
  text_ = CsvText(without_byte_order_mark(text), text_.delimiter(), text_.decimal_point());
  text_.go_back(text.data() + text.size());
  bytes_ = std::move(kept);
}

std::int64_t CsvFile::line_of(std::int64_t row, const char* position) const {
  return places_.lines.empty() ? places_.line - 1 + text_.line(position)
                               : places_.lines[static_cast<std::size_t>(row - places_.row)];
}

/// Every row but the last ends its line, and every cell but a line's last is followed by a delimiter.
std::int64_t CsvFile::most_rows() const {
  const auto lines = 1 + std::count(bytes_.data(), bytes_.data() + bytes_.size(), std::byte{'\n'});
  return std::min<std::int64_t>(lines, static_cast<std::int64_t>(bytes_.size() + 1) / line_.columns + 1);
}

std::string_view CsvFile::content() {
  const std::span<std::byte> bytes(bytes_.data(), bytes_.size());
  std::string_view text(reinterpret_cast<const char*>(bytes_.data()), bytes_.size());
  const std::string& name = line_.file;
  if (!line_.has_lines) return text;  // as it was made
  text = without_byte_order_mark(text);
  if (const std::string_view other = other_format(text); !other.empty()) {
    throw Error(fmt::format("{}: expected CSV, found {}", name, other));
  }
  // Old Macs, and Excel's format for them, end lines with only CR.
  if (text.find('\n') == text.npos) std::ranges::replace(bytes, std::byte{'\r'}, std::byte{'\n'});
  return text;
}

void CsvFile::read_first_line(const Csv& options, const std::vector<std::string>* known) {
  if (text_.at_end()) throw Error(fmt::format("{}: expected one example per line, found an empty file", line_.file));
  const CsvText start = text_;
  std::vector<std::string> cells;
  CsvText::After after = CsvText::After::kCell;
  const char* cell = nullptr;
  const char* end = nullptr;
  while (after == CsvText::After::kCell) {
    cell = text_.position();
    cells.push_back(text_.cell());
    if (!text_.closed()) {
      throw Error(fmt::format("{}:{}: column {}: a quote begins here and is never closed", line_.file, text_.line(cell),
                              cells.size() - 1));
    }
    end = text_.position();
    after = text_.next();
  }
  if (after == CsvText::After::kGarbage) {
    const bool is_return = *text_.position() == '\r';
    throw Error(fmt::format(
        "{}:{}: column {}: {}", line_.file, text_.line(text_.position()), cells.size() - 1,
        is_return
            ? "a carriage return (CR) alone is in this line, and other lines end with LF; save the file with LF or "
              "CRLF at the end of every line"
            : fmt::format("expected {} or the end of the line after a quoted cell, found '{}'", text_.delimiter_name(),
                          shortened(text_.raw_cell(cell)))));
  }
  line_.columns = static_cast<std::int64_t>(cells.size());
  const std::int64_t line = text_.line(start.position());
  require_cells(cells, line, options);
  if (options.header ? *options.header : looks_like_header(cells, line, options, known)) {
    for (const std::string& name : cells) require_utf8(name, line_.file);
    line_.header = std::move(cells);
    if (line_.has_lines) header_text_ = {start.position(), end};  // else no row repeats it, whatever its words are
  } else {
    text_ = start;
  }
}

/// A first line of one cell may be another format than a table with one column.
void CsvFile::require_cells(const std::vector<std::string>& cells, std::int64_t line, const Csv& options) const {
  if (!line_.has_lines) return;
  if (cells[0].starts_with("sep=")) {
    throw Error(
        fmt::format("{}:{}: expected the cells of a row, found 'sep=', which is for Excel alone; remove this line",
                    line_.file, line));
  }
  if (cells.size() != 1 || options.delimiter) return;
  if (cells[0].starts_with('#')) {
    throw Error(fmt::format("{}:{}: expected the cells of a row, found '{}'; remove the lines of comments", line_.file,
                            line, shortened(cells[0])));
  }
  if (is_separated_by_spaces(cells[0], options.decimal.front())) {
    throw Error(
        fmt::format("{}:{}: expected commas, semicolons, tabs or | between cells, found spaces in '{}'; write commas "
                    "in their place",
                    line_.file, line, shortened(cells[0])));
  }
}

void require_utf8(std::string_view text, const std::string& place) {
  if (!is_utf8(text)) {
    throw Error(fmt::format("{}: '{}' is not UTF-8; save the file as UTF-8", place, shortened(text)));
  }
}

}  // namespace mirrortrain::data
