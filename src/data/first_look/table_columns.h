#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "data/first_look/look_at_data.h"
#include "data/tables/csv.h"

namespace mirrortrain::data {

/// Words that a one_hot column may have.
inline constexpr std::size_t kMostWords = 20;

/// How often a word occurs in a column.
struct Occurrence {
  std::int64_t count = 0;
  std::int64_t line = 0;  ///< the first one's, from 1; of a column's first words only
};

/// The cells of a table's column.
struct TableColumn {
  std::string name;  ///< in the header; its number where there is none
  bool has_unique_name = true;
  std::int64_t numbers = 0, empty = 0;
  std::map<std::string, Occurrence> words, marks;  ///< marks: of missing values
  std::set<double> different;                      ///< numbers, a hundred thousand at most
  std::optional<double> first;                     ///< the first row's number

  bool has_numbers() const { return words.empty() && numbers > 0; }
  bool has_words() const { return !words.empty(); }
  std::int64_t word_rows() const;
  std::int64_t rows() const;
  bool has_missing() const { return empty > 0 || !marks.empty(); }
  /// Whether a few of its cells are words, and the others numbers as of a measurement.
  bool is_mostly_numbers() const;
  /// Whether each row has another whole number, hardly more than there are rows; of a column without a name, any.
  bool numbers_rows() const;
  /// Whether all rows have one value.
  bool is_constant() const;
};

/// Reads a table's columns. Where the first line is a header, or has decimal commas below it, `csv` says so afterwards;
/// what its user should know is added to `remarks`. Throws Error for what is no table.
std::vector<TableColumn> table_columns(const std::string& path, Csv& csv, std::vector<std::string>& remarks);

}  // namespace mirrortrain::data
