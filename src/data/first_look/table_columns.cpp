#include "data/first_look/table_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <ranges>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "data/tables/csv_file.h"
#include "data/tables/mistaken_number.h"

namespace mirrortrain::data {
namespace {

/// Maximum numbers of a column to compare: of measures, and of whole numbers, which may be ids.
constexpr std::size_t kMostMeasures = 100'000, kMostWhole = 4'000'000;

/// Reads the rows below the first line.
class ColumnReader {
 public:
  ColumnReader(const std::string& path, const Csv& csv) : path_(path), file_(path, csv), text_(file_.text()) {
    const FirstLine& line = file_.first_line();
    columns_.resize(static_cast<std::size_t>(line.columns));
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      columns_[i].name = line.header.empty() ? std::to_string(i) : line.header[i];
      columns_[i].has_unique_name = std::ranges::count(line.header, columns_[i].name) <= 1;
      if (!line.why_no_cells.empty()) columns_[i].why_no_cells = line.why_no_cells[i];
    }
  }

  const CsvFile& file() const { return file_; }
  bool has_header() const { return !file_.first_line().header.empty(); }

  std::vector<TableColumn> read() {
    while (!text_.at_end()) {
      if (file_.repeats_header()) {
        text_.pass_row(text_.position());
      } else {
        read_row();
      }
    }
    for (TableColumn& column : columns_) {  // such as Namibia's NA, if other cells are words
      if (column.has_words()) column.words.merge(std::exchange(column.marks, {}));
    }
    return std::move(columns_);
  }

 private:
  void read_row() {
    const char* const row = text_.position();
    std::size_t at = 0;
    CsvText::After after = CsvText::After::kCell;
    for (; after == CsvText::After::kCell && at < columns_.size(); ++at) {
      const char* const cell = text_.position();
      read_cell(columns_[at]);
      if (!text_.closed()) {
        throw Error(fmt::format("{}:{}: column {}: a quote begins here and is never closed", path_, text_.line(cell),
                                columns_[at].name));
      }
      after = text_.next();
    }
    is_first_ = false;
    if (after == CsvText::After::kLine && at == columns_.size()) return;
    throw Error(fmt::format("{}:{}: expected {} cell{} as in the first line, found {}", path_, text_.line(row),
                            columns_.size(), columns_.size() == 1 ? "" : "s",
                            at < columns_.size() ? std::to_string(at) : "more"));
  }

  static void add_number(TableColumn& column, double number) {
    column.is_whole = column.is_whole && number == std::floor(number);
    column.increases = column.increases && (column.numbers == 0 || number > column.last);
    column.last = number;
    ++column.numbers;
    if (column.different.size() < (column.is_whole ? kMostWhole : kMostMeasures)) {
      column.different.insert(number);
    } else if (!column.has_more) {
      column.has_more = !column.different.contains(number);
    }
  }

  void read_cell(TableColumn& column) {
    constexpr std::size_t kWordsWithLines = 50;  // finding the line takes longer the farther it is
    if (text_.empty_cell()) {
      ++column.empty;
    } else if (const auto number = text_.whole_number<double>()) {
      add_number(column, *number);
      if (is_first_) column.first = number;
    } else {
      const char* const cell = text_.position();
      const std::string word = text_.cell();
      Occurrence& found = (looks_missing(word) ? column.marks : column.words)[word];
      if (++found.count == 1 && column.words.size() <= kWordsWithLines) found.line = text_.line(cell);
    }
  }

  const std::string& path_;
  CsvFile file_;
  CsvText& text_;
  std::vector<TableColumn> columns_;
  bool is_first_ = true;
};

/// Whether a file read with decimal points has a column in which every word is a number with a comma, as "1,5".
bool has_decimal_commas(const std::vector<TableColumn>& columns, char delimiter) {
  const auto is_number = [](const std::string& word) {
    CsvText text(word, ';', ',');
    return text.whole_number<double>() && text.at_end();
  };
  // Quoted between commas, "1,500" may be fifteen hundred, but "1,5" is a fraction.
  const auto has_fraction = [&](const std::string& word) {
    return delimiter != ',' || (word.find(',') != std::string::npos && word.size() - word.find(',') != 4);
  };
  return std::ranges::any_of(columns, [&](const TableColumn& column) {
    return column.has_words() && std::ranges::all_of(column.words | std::views::keys, is_number) &&
           std::ranges::any_of(column.words | std::views::keys, has_fraction);
  });
}

/// Whether a first line with numbers, which was read as an example, is probably a header: one of its words is the only
/// one above numbers, or its numbers count up and its words do not recur.
bool is_rather_header(const std::vector<TableColumn>& columns) {
  constexpr std::size_t kFewestNumbers = 2;
  std::vector<double> numbers;
  bool recurs = false;
  for (const TableColumn& column : columns) {
    if (column.first) numbers.push_back(*column.first);
    for (const auto& [word, found] : column.words) {
      if (found.line != 1) continue;
      if (column.words.size() == 1 && found.count == 1 && column.numbers > 0) return true;
      recurs = recurs || found.count > 1;
    }
  }
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    if (numbers[i] != numbers[0] + static_cast<double>(i)) return false;
  }
  return numbers.size() >= kFewestNumbers && !recurs;
}

/// Whether the row at the text's position consists of the numbers 0, 1, 2, ..., as written by pandas for unnamed
/// columns.
bool counts_columns(CsvText text, std::int64_t columns) {
  for (std::int64_t column = 0; column < columns; ++column) {
    if (text.whole_number<double>() != static_cast<double>(column)) return false;
    text.next();
  }
  return columns > 2;
}

/// Decides whether a first line with numbers is a header; returns a remark on that.
std::vector<std::string> settle_header(const std::string& path, Csv& csv) {
  try {
    CsvFile first_look(path, csv);
    const FirstLine& line = first_look.first_line();
    if (!line.header.empty() || !counts_columns(first_look.text(), line.columns)) return {};
    csv.header = true;
    return {
        "the first line counts the columns from 0 and is taken for a header; if it is an example, write header: "
        "false"};
  } catch (const MayBeHeader&) {
    csv.header = false;
    csv.header = is_rather_header(ColumnReader(path, csv).read());
    return {
        fmt::format("some cells of the first line are numbers and some are not, and it is taken for {}; "
                    "if it is not, write header: {}",
                    *csv.header ? "a header" : "an example", !*csv.header)};
  }
}

/// Throws if the second line contains the units of the columns.
void refuse_units(const std::string& path, const std::vector<TableColumn>& columns, std::int64_t first_line) {
  std::vector<std::string> units;
  for (const TableColumn& column : columns) {
    if (!column.is_mostly_numbers()) continue;
    for (const auto& [word, found] : column.words) {
      if (found.line == first_line && found.count == 1) units.push_back(word);
    }
  }
  if (units.size() < 2) return;
  throw UsageError(
      fmt::format("{}:{}: this line has words above columns of numbers ({}), as a line of units; remove it", path,
                  first_line, shortened(fmt::format("{}", fmt::join(units, ", ")), 80)));
}

/// Treats words among numbers, such as "error" or "1O", as missing numbers.
void take_for_missing(TableColumn& column, std::vector<std::string>& remarks) {
  const auto& [word, found] = *column.words.begin();
  remarks.push_back(
      fmt::format("{}: '{}' (line {}){} is among {} numbers and is taken for a missing one; correct it if it is a slip",
                  column.name, shortened(word), found.line,
                  column.words.size() == 1 ? std::string() : fmt::format(" and {} words more", column.words.size() - 1),
                  column.numbers));
  column.marks.merge(std::exchange(column.words, {}));
}

}  // namespace

std::int64_t TableColumn::word_rows() const {
  std::int64_t all = 0;
  for (const auto& [word, found] : words) all += found.count;
  return all;
}

std::int64_t TableColumn::rows() const {
  std::int64_t all = numbers + empty + word_rows();
  for (const auto& [mark, found] : marks) all += found.count;
  return all;
}

bool TableColumn::is_mostly_numbers() const {
  constexpr std::int64_t kFewNumbers = 8;
  return has_words() && numbers > kFewNumbers && word_rows() * 10 < numbers && words.size() <= kMostWords &&
         (different.size() > kMostWords || word_rows() == 1);
}

bool TableColumn::numbers_rows() const {
  if (!has_numbers() || has_missing() || !is_whole) return false;
  if (std::ssize(different) != numbers && !increases) return false;
  const bool has_no_name = name.empty() || name.starts_with("Unnamed: ");
  const double range = std::max(last, *different.rbegin()) - *different.begin() + 1;
  return *different.begin() >= 0 && (has_no_name || range <= 1.5 * static_cast<double>(numbers));
}

std::vector<std::string> TableColumn::formatted_numbers(char point) const {
  std::vector<std::string> found;
  std::ranges::copy_if(words | std::views::keys, std::back_inserter(found),
                       [&](const std::string& word) { return !mistaken_number(word, point).empty(); });
  return found;
}

bool TableColumn::is_constant() const { return rows() > 1 && !has_missing() && words.size() + different.size() == 1; }

Table table_columns(const std::string& path, Csv& csv, std::vector<std::string>& remarks) {
  Csv tried = csv;
  std::vector<std::string> found = settle_header(path, tried);
  ColumnReader reader(path, tried);
  std::ranges::copy(reader.file().remarks(), std::back_inserter(found));
  if (!reader.file().remarks().empty()) tried.header = reader.has_header();
  for (const auto& [column, remark] : reader.file().doubtful_numbers()) found.push_back(remark);
  std::vector<TableColumn> columns = reader.read();
  if (csv.decimal != "," && has_decimal_commas(columns, reader.file().delimiter())) {
    csv.decimal = ",";
    return table_columns(path, csv, remarks);
  }
  csv = tried;
  std::ranges::copy(found, std::back_inserter(remarks));
  refuse_units(path, columns, reader.has_header() ? 2 : 1);
  for (TableColumn& column : columns) {
    if (column.is_mostly_numbers() && column.formatted_numbers(csv.decimal.front()).empty()) {
      take_for_missing(column, remarks);
    }
  }
  return {std::move(columns), reader.has_header()};
}

}  // namespace mirrortrain::data
