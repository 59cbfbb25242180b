#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "data/first_look/look_at_data.h"
#include "data/tables/csv.h"

namespace mirrortrain::data {

/// Maximum number of words of a one_hot column.
inline constexpr std::size_t kMostWords = 20;

/// The occurrences of a word in a column.
struct Occurrence {
  std::int64_t count = 0;
  std::int64_t line = 0;  ///< of the first occurrence, from 1; only for a column's first words
};

/// The cells of a table's column.
struct TableColumn {
  std::string name;  ///< from the header; its number if there is none
  bool has_unique_name = true;
  std::string why_no_cells;  ///< "is nested (...)", of a file that has other columns than cells; else empty
  std::int64_t numbers = 0, empty = 0;
  std::map<std::string, Occurrence> words, marks;  ///< marks: of missing values
  std::set<double> different;                      ///< distinct numbers, of many only the first
  bool has_more = false;                           ///< whether there are more than these
  bool is_whole = true;                            ///< whether all numbers are
  bool increases = true;                           ///< whether each number is larger than the one before
  double last = 0;                                 ///< the last number
  std::optional<double> first;                     ///< the first row's number

  bool has_numbers() const { return words.empty() && numbers > 0; }
  bool has_words() const { return !words.empty(); }
  std::int64_t word_rows() const;
  std::int64_t rows() const;
  std::int64_t different_values() const { return std::ssize(words) + std::ssize(different); }
  bool has_missing() const { return empty > 0 || !marks.empty(); }
  /// Whether a few of its cells are words, and the others numbers like those of a measurement.
  bool is_mostly_numbers() const;
  /// Whether each row has a different integer, from a range hardly larger than the number of rows; for a column without
  /// a name, from any range.
  bool numbers_rows() const;
  /// Whether all rows have the same value.
  bool is_constant() const;
  /// The words that are numbers as people write them: "1,234", "$5". `point`: before a number's fraction.
  std::vector<std::string> formatted_numbers(char point) const;
};

/// A table's columns, and whether its first line is a header.
struct Table {
  std::vector<TableColumn> columns;
  bool has_header = false;
};

/// Reads a table's columns. If the first line is a header, or the numbers have decimal commas, sets this in `csv`; adds
/// remarks for the user to `remarks`. Throws Error if it is not a table.
Table table_columns(const std::string& path, Csv& csv, std::vector<std::string>& remarks);

}  // namespace mirrortrain::data
