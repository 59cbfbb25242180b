#include "data/tables/csv_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <ranges>
#include <set>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"

namespace mirrortrain::data {
namespace {

bool is_number(const std::string& cell, char point) { return number_in(cell, point).has_value(); }

constexpr std::string_view kDelimiters = ",;\t|";
using DelimiterCounts = std::array<std::size_t, kDelimiters.size()>;

/// Counts each delimiter outside quotes in the next nonempty line; removes the line from `text`.
DelimiterCounts count_delimiters(std::string_view& text) {
  DelimiterCounts counts{};
  bool quoted = false, begun = false;
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') quoted = !quoted;
    if (c == '\n' && !quoted && begun) break;
    begun = begun || (c != '\n' && c != '\r' && c != ' ');
    if (const auto found = kDelimiters.find(c); found != std::string_view::npos && !quoted) ++counts[found];
  }
  text.remove_prefix(at);
  return counts;
}

/// The most frequent delimiter of the first line, preferably with the same count in the second. A comma that is the
/// decimal `point`, and |, count only if there is no other.
char likely_delimiter(std::string_view text, char point) {
  DelimiterCounts first = count_delimiters(text);
  const DelimiterCounts second = count_delimiters(text);
  if (point == ',' && first[1] + first[2] > 0) first[0] = 0;
  if (first[0] + first[1] + first[2] > 0) first[3] = 0;
  const auto most = static_cast<std::size_t>(std::ranges::max_element(first) - first.begin());
  if (first[most] == second[most]) return kDelimiters[most];
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (first[i] > 0 && first[i] == second[i]) return kDelimiters[i];
  }
  return kDelimiters[most];
}

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> starts) {
  return std::ranges::any_of(starts, [&](std::string_view start) { return text.starts_with(start); });
}

/// The actual format of a file that only its name calls CSV, with the remedy; "" if it may be CSV.
std::string_view other_format(std::string_view text) {
  if (text.starts_with("PK\x03\x04")) return "a zip archive, as .xlsx files are; save the sheet as CSV";
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
    numbers += is_number(std::string(part.begin(), part.end()), point) ? 1 : 0;
  }
  return numbers > 1;
}

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

/// Whether a text is 1 to 3 digits, the first of which is not 0, followed by a point and three digits, as 2.801.
bool is_grouped_by_points(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.starts_with('-')) text.remove_prefix(1);
  const std::size_t point = text.find('.');
  return point >= 1 && point <= 3 && text.size() == point + 4 && text[0] != '0' &&
         std::ranges::all_of(text.substr(0, point), is_digit) && std::ranges::all_of(text.substr(point + 1), is_digit);
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
    : CsvFile(path, std::move(text.bytes), text.form.is_of_lines ? options : options_of_made_lines(options), known) {
  line_.has_lines = text.form.is_of_lines;
  line_.why_no_cells = std::move(text.form.why_no_cells);
}

CsvFile::CsvFile(const std::string& name, std::string_view beginning, const Csv& options,
                 const std::vector<std::string>* known, const TableForm& form)
    : CsvFile(name, TableText{copied(beginning, name), form}, options, known) {}

CsvFile::CsvFile(const std::string& name, Bytes bytes, const Csv& options, const std::vector<std::string>* known)
    : line_{name, {}, 0},
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

bool CsvFile::knows_delimiter(std::string_view beginning, const Csv& options) {
  if (options.delimiter) return true;
  const DelimiterCounts first = count_delimiters(beginning);
  count_delimiters(beginning);
  const bool has_second = !beginning.empty();  // and what ends it
  return has_second || std::ranges::count_if(first, [](std::size_t count) { return count > 0; }) <= 1;
}

char CsvFile::likely_delimiter(std::string_view beginning, const Csv& options) {
  return options.delimiter ? options.delimiter->front() : data::likely_delimiter(beginning, options.decimal.front());
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
    header_text_ = {start.position(), end};
  } else {
    text_ = start;
  }
}

/// A first line of one cell may be another format than a table with one column.
void CsvFile::require_cells(const std::vector<std::string>& cells, std::int64_t line, const Csv& options) const {
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

bool CsvFile::repeats_header() const {
  const std::string_view rest = text_.rest();
  if (header_text_.empty() || !rest.starts_with(header_text_)) return false;
  const std::string_view behind = rest.substr(header_text_.size());
  return behind.empty() || behind[0] == '\n' || behind[0] == '\r';
}

bool CsvFile::looks_like_header(const std::vector<std::string>& cells, std::int64_t line, const Csv& options,
                                const std::vector<std::string>* known) {
  const char point = options.decimal.front();
  const auto numbers = static_cast<std::size_t>(
      std::ranges::count_if(cells, [&](const std::string& cell) { return is_number(cell, point); }));
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
      (is_number(row[column], point) ? has_numbers : has_words)[column] = true;
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

std::map<std::size_t, std::string> CsvFile::doubtful_numbers() const {
  constexpr int kMostLines = 1000;
  constexpr std::size_t kMostCells = 100'000;
  struct Numbers {
    std::int64_t grouped = 0;  ///< as 2.801
    std::string code;          ///< as 01234
    double largest = 0;        ///< of numbers without a point
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
        if (cell.size() > 3 && cell[0] == '0' && numbers.code.empty()) numbers.code = cell;
        double value = 0;
        std::from_chars(cell.data(), cell.data() + cell.size(), value);
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
    const auto& [grouped, code, largest, has_others, example] = columns[column];
    const std::string name =
        line_.header.empty() ? std::to_string(column) : fmt::format("'{}'", shortened(line_.header[column]));
    if (!code.empty()) {
      doubtful[column] = fmt::format(
          "{0}: column {1}: {2} is read as the number {3:g}; if these are codes, as of places or articles, encode "
          "them, "
          "as encoding: {{{4}: one_hot}}",
          line_.file, name, code, std::stod(code),
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

void require_utf8(std::string_view text, const std::string& place) {
  if (!is_utf8(text)) {
    throw Error(fmt::format("{}: '{}' is not UTF-8; save the file as UTF-8", place, shortened(text)));
  }
}

}  // namespace mirrortrain::data
