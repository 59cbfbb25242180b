#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/tables/adapted.h"
#include "data/tables/csv_table.h"

namespace mirrortrain::data {

/// How a column's cells are converted: numbers unchanged, words by their number in the file, or bins of crossings and
/// hashes, which the cells have already.
struct ColumnCode {
  std::int64_t width = 1, first = 0;  ///< number of features that it is converted to, and the first of them
  bool is_number = true, is_word = false, is_one_hot = false;
  double missing = 0;
  std::vector<std::int64_t> codes;  ///< of words
};

/// How the cells of a column are converted, whose words are numbered as in `words`.
ColumnCode code_of(const AdaptedColumn& column, const std::vector<std::string>& words);

/// Columns, side by side, with how their cells are converted.
struct EncodedColumns {
  std::vector<std::size_t> own;   ///< which of the table's columns of numbers and words
  std::vector<ColumnCode> codes;  ///< of each of these
  std::int64_t width = 0;

  /// Writes the numbers of a row. Returns the first of the columns that has a word with no code; else nullopt.
  std::optional<std::size_t> write(const double* cells, double* out) const;
  /// The first of the columns that has a word with no code in a row.
  std::optional<std::size_t> find_unknown_word(const double* cells) const;
  bool may_have_unknown_words() const;
  /// Whether float32 has all numbers, of columns of which these are the facts.
  bool fit_float(const std::vector<ColumnFacts>& facts) const;
  /// Changes where any number might.
  std::string identity() const;
};

/// The numbers of columns, as float32 if that has all of them, else float64, of which `cells`, `cell_count` to a row,
/// are read by position. No word may be unknown.
std::shared_ptr<const StoredRows> encoded_rows(std::shared_ptr<const StoredRows> cells, std::size_t cell_count,
                                               EncodedColumns columns, DType dtype);

}  // namespace mirrortrain::data
