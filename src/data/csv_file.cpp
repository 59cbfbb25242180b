#include "data/csv_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/utf8.h"

namespace mirrortrain::data {
namespace {

bool is_number(const std::string& cell, char point) {
  CsvText text(cell, '\n', point);
  return !cell.empty() && text.number<double>().has_value() && text.at_end();
}

/// What the first line with anything in it has most of, outside quotes; a comma that is the numbers' `point` only where
/// there is nothing else.
char likely_delimiter(std::string_view text, char point) {
  constexpr std::string_view candidates = ",;\t";
  std::array<std::size_t, candidates.size()> counts{};
  bool quoted = false, begun = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (c == '\n' && !quoted && begun) break;
    begun = begun || (c != '\n' && c != '\r' && c != ' ');
    if (const auto found = candidates.find(c); found != std::string_view::npos && !quoted) ++counts[found];
  }
  if (point == ',' && counts[1] + counts[2] > 0) counts[0] = 0;
  return candidates[static_cast<std::size_t>(std::max_element(counts.begin(), counts.end()) - counts.begin())];
}

}  // namespace

CsvFile::CsvFile(const std::string& path, const Csv& options)
    : line_{path, {}, 0},
      bytes_(PlainFile(path).read_whole()),
      text_(content(),
            options.delimiter ? options.delimiter->front() : likely_delimiter(content(), options.decimal.front()),
            options.decimal.front()) {
  read_first_line(options);
}

/// Every row but the last ends its line, and every cell but the last of a line has a delimiter behind it.
std::int64_t CsvFile::most_rows() const {
  const auto lines = 1 + std::count(bytes_.data(), bytes_.data() + bytes_.size(), std::byte{'\n'});
  return std::min<std::int64_t>(lines, static_cast<std::int64_t>(bytes_.size() + 1) / line_.columns + 1);
}

std::string_view CsvFile::content() const {
  std::string_view text(reinterpret_cast<const char*>(bytes_.data()), bytes_.size());
  const std::string& name = line_.file;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark
  if (text.starts_with("\x1f\x8b")) throw Error(fmt::format("{}: expected CSV, found gzip; unpack it first", name));
  if (text.substr(0, 4096).find('\0') != text.npos) {
    throw Error(fmt::format("{}: expected CSV, found bytes that are not text; save it as UTF-8 or ASCII", name));
  }
  return text;
}

void CsvFile::read_first_line(const Csv& options) {
  if (text_.at_end()) throw Error(fmt::format("{}: expected one example per line, found an empty file", line_.file));
  const CsvText start = text_;
  std::vector<std::string> cells;
  CsvText::After after = CsvText::After::kCell;
  const char* cell = nullptr;
  while (after == CsvText::After::kCell) {
    cell = text_.position();
    cells.push_back(text_.cell());
    if (!text_.closed()) {
      throw Error(fmt::format("{}:{}: column {}: a quote begins here and is never closed", line_.file, text_.line(cell),
                              cells.size() - 1));
    }
    after = text_.next();
  }
  if (after == CsvText::After::kGarbage) {
    throw Error(fmt::format("{}:{}: column {}: expected {} or the end of the line after a quoted cell, found '{}'",
                            line_.file, text_.line(text_.position()), cells.size() - 1, text_.delimiter_name(),
                            shortened(text_.raw_cell(cell))));
  }
  line_.columns = static_cast<std::int64_t>(cells.size());
  if (options.header ? *options.header : looks_like_header(cells, text_.line(start.position()), options)) {
    for (const std::string& name : cells) require_utf8(name, line_.file);
    line_.header = std::move(cells);
  } else {
    text_ = start;
  }
}

bool CsvFile::looks_like_header(const std::vector<std::string>& cells, std::int64_t line, const Csv& options) const {
  const auto numbers = static_cast<std::size_t>(std::count_if(
      cells.begin(), cells.end(), [&](const std::string& cell) { return is_number(cell, options.decimal.front()); }));
  const auto by_name = [](const CsvColumns& columns) {
    const auto list = listed(columns);
    return std::any_of(list.begin(), list.end(), [](const CsvColumn& column) { return column.index() == 1; });
  };
  if (by_name(options.labels) || (options.features && by_name(*options.features)) || numbers == 0) return true;
  if (numbers == cells.size()) return false;
  throw Error(
      fmt::format("{}:{}: some cells of the first line are numbers and some are not, so that it may be a header or "
                  "not; say 'header: true' or 'header: false'",
                  line_.file, line));
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = first_character(text).bytes;
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

void require_utf8(std::string_view text, const std::string& place) {
  if (!is_utf8(text)) {
    throw Error(fmt::format("{}: '{}' is not UTF-8; save the file as UTF-8", place, shortened(text)));
  }
}

}  // namespace mirrortrain::data
