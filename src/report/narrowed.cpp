// Narrows tables to a terminal's columns.
#include <algorithm>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "report/fitted.h"

namespace mirrortrain::report {
namespace {

constexpr std::size_t kGap = 2;  // between columns
constexpr std::size_t kLeastName = 12, kLeastTitle = 6, kLeastWord = 8;

/// A line as terminal columns: the characters that begin in each.
std::vector<std::string> columns_of(std::string_view line) {
  std::vector<std::string> columns;
  while (!line.empty()) {
    const std::string character(line.substr(0, std::max<std::size_t>(first_character(line).bytes, 1)));
    line.remove_prefix(character.size());
    const std::size_t width = display_width(character);
    if (width == 0 && !columns.empty()) {
      columns.back() += character;
    } else {
      columns.push_back(character);
      columns.resize(columns.size() + std::max<std::size_t>(width, 1) - 1);
    }
  }
  return columns;
}

struct Column {
  std::vector<std::string> cells;  ///< the title first
  std::size_t width = 0, width_below_title = 0;
  bool is_right = true, has_numbers = true;
};

/// The cells between the columns `begin` and `end` of each line.
Column column_between(const std::vector<std::vector<std::string>>& lines, std::size_t begin, std::size_t end) {
  Column column;
  column.width = end - begin;
  for (const auto& line : lines) {
    std::string text;
    for (std::size_t i = begin; i < std::min(end, line.size()); ++i) text += line[i];
    const std::string cell(without_outer_spaces(text));
    column.is_right = column.is_right && (cell.empty() || (line.size() >= end && line[end - 1] != " "));
    if (!column.cells.empty()) {
      column.width_below_title = std::max(column.width_below_title, display_width(cell));
      const bool is_number = cell.empty() || std::string_view("0123456789[-").find(cell[0]) != std::string_view::npos;
      column.has_numbers = column.has_numbers && is_number;
    }
    column.cells.push_back(cell);
  }
  return column;
}

std::vector<Column> columns_of(const std::vector<std::string_view>& lines) {
  std::vector<std::vector<std::string>> all;
  std::size_t width = 0;
  for (const std::string_view line : lines) width = std::max(width, all.emplace_back(columns_of(line)).size());
  const auto is_blank = [&](std::size_t i) {
    return std::ranges::all_of(all, [&](const auto& line) { return i >= line.size() || line[i] == " "; });
  };
  std::vector<Column> columns;
  for (std::size_t begin = 0, end = 0; begin < width; begin = end) {
    for (end = begin; end < width && !(is_blank(end) && (end + 1 >= width || is_blank(end + 1)));) ++end;
    if (end > begin) columns.push_back(column_between(all, begin, end));
    while (end < width && is_blank(end)) ++end;
  }
  return columns;
}

/// Shrinks a column by up to `excess`, down to `least`.
void shrink(Column& column, std::size_t least, std::size_t& excess) {
  const std::size_t taken = std::min(excess, column.width - std::min(column.width, least));
  column.width -= taken;
  excess -= taken;
}

void shrink(std::vector<Column>& columns, std::size_t excess) {
  shrink(columns[0], kLeastName, excess);
  for (Column& column : columns) {
    if (&column != columns.data()) shrink(column, std::max(column.width_below_title, kLeastTitle), excess);
  }
  for (std::size_t i = columns.size(); i-- > 1;) {
    if (!columns[i].has_numbers) shrink(columns[i], kLeastWord, excess);
  }
}

/// `start`: the length of the common prefix of all lines, each of which ends in a line break.
std::string narrowed_table(std::vector<std::string_view> lines, std::size_t start, std::size_t width) {
  const std::string beginning(lines[0].substr(0, start));
  for (std::string_view& line : lines) line.remove_prefix(start);
  std::vector<Column> columns = columns_of(lines);
  std::size_t all = start + kGap * (columns.size() - 1);
  for (const Column& column : columns) all += column.width;
  if (all > width) shrink(columns, all - width);
  std::string text;
  for (std::size_t row = 0; row < lines.size(); ++row) {
    std::string line = beginning;
    for (const Column& column : columns) {
      const std::string cell = cut_off(column.cells[row], column.width);
      const std::string space(column.width - display_width(cell), ' ');
      line += column.is_right ? space + cell : cell + space;
      line += std::string(kGap, ' ');
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

/// The length of the leading spaces and comment characters.
std::size_t start_of(std::string_view line) { return std::min(line.find_first_not_of(" #"), line.size()); }

bool has_columns(std::string_view line) { return line.find("  ", start_of(line)) < line.find_last_not_of(' '); }

}  // namespace

std::string narrowed(std::string_view text, std::size_t width) {
  std::string result;
  std::vector<std::string_view> table;
  std::size_t start = 0;
  const auto end_table = [&] {
    const bool fits = std::ranges::all_of(table, [&](auto line) { return display_width(line) <= width; });
    if (table.size() > 1 && !fits) {
      result += narrowed_table(table, start, width);
    } else {
      for (const std::string_view line : table) result += std::string(line) + "\n";
    }
    table.clear();
  };
  const bool ends_line = text.ends_with('\n');
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!has_columns(line)) {
      end_table();
      result += std::string(line) + "\n";
      continue;
    }
    if (table.empty()) start = start_of(line);
    if (start_of(line) != start) end_table(), start = start_of(line);
    table.push_back(line);
  }
  end_table();
  if (!ends_line && !result.empty()) result.pop_back();
  return result;
}

}  // namespace mirrortrain::report
