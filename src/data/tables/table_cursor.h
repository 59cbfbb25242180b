#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "data/tables/column_uses.h"
#include "data/tables/csv_file.h"
#include "data/tables/csv_table.h"

namespace mirrortrain::data {

/// It is unknown which of the rows is wrong.
class NotToBeLeftOut : public Error {
  using Error::Error;
};

/// What a column has behind cells that are empty or marks of a missing number.
enum class Following : std::uint8_t { kNumber, kOther, kNothing };

/// The same of a column of the text, which is at cell `at` of a row. `marks`: of missing values. Where the text
/// `is_cut` the file goes on behind it, and its last row is not looked at: the text is left there, or at its end.
Following following_in(CsvText& text, std::size_t at, std::size_t column, const std::vector<std::string>& marks,
                       bool is_cut = false);

/// The cell of a table that is being read, and what errors say of it.
class TableCursor {
 public:
  /// `columns`: of the table; all three must outlive the cursor.
  TableCursor(const Csv& options, const CsvReading& reading, const AdaptedTable& columns);

  /// Goes to the first row of a file, whose columns have these uses.
  void open(CsvFile& file, const ColumnUses& uses) { open(file, file.text(), uses); }
  /// The same for another text, with rows of the file.
  void open(const CsvFile& file, CsvText& text, const ColumnUses& uses);
  void begin_row() { row_begin_ = text_->position(); }
  void end_row() { ++row_; }
  void begin_cell(std::size_t column) { column_ = column, cell_ = text_->position(); }
  /// Goes back to the beginning of the cell, which is read once more.
  void read_again() { text_->go_back(cell_); }
  /// Skips the separator behind the cell, which must have been read whole. Throws Error if it has more, or if the row
  /// has too few or too many.
  void pass_separator();

  CsvText& text() { return *text_; }
  const CsvReading& reading() const { return reading_; }
  /// The cell as text. Throws Error for a quote that is not closed.
  std::string_view read_word();
  /// Whether the cell is empty or a mark of a missing number; if so, skips it.
  bool passes_missing_number();
  /// Whether the next cell of the column that is neither empty nor such a mark, from this one on, is a number.
  bool numbers_follow() const;
  /// Whether the training data's options list a text as a mark of a missing value.
  bool is_mark(std::string_view text) const;
  bool is_mark(double number) const;

  /// "a.csv:3: row 1 (counting from 0), column 0 ('x')"
  std::string place_text(const char* place) const;
  std::string place_text() const { return place_text(cell_); }
  /// The cell as written, without what is around it.
  std::string_view raw_cell() const { return text_->raw_cell(cell_); }
  /// The same, without quotes around it.
  std::string plain_cell() const;
  /// "nan" and "inf" are not words.
  bool is_nonfinite_number() const;
  /// A hint for a cell that should be a number: "; write 1163, without ..."; "" if there is none.
  std::string number_hint() const;

  /// Throws Error for the row. Where rows are left out and reasons are no longer kept, without a text.
  [[noreturn]] void fail(const std::string& message) const { fail(message, cell_); }
  [[noreturn]] void fail(const std::string& message, const char* place) const;
  /// `expected`: "a number".
  [[noreturn]] void fail_at_empty(const char* expected) const;
  /// For a cell that is no number among features.
  [[noreturn]] void fail_at_number();

 private:
  void fail_without_reason() const;
  std::string word_column_hint() const;
  std::int64_t numbers_beside() const;
  std::string decimal_comma_hint(std::string cell) const;
  std::string size_hint() const;
  std::string missing_hint() const;

  const Csv& options_;
  const CsvReading& reading_;
  const AdaptedTable& columns_;
  std::vector<double> number_marks_;  ///< marks of missing values that are numbers, such as -999
  const CsvFile* file_ = nullptr;
  CsvText* text_ = nullptr;
  const ColumnUses* uses_ = nullptr;
  std::int64_t row_ = 0;  ///< of the file, including those that are left out
  std::size_t column_ = 0;
  const char* row_begin_ = nullptr;
  const char* cell_ = nullptr;
  std::string buffer_;
};

}  // namespace mirrortrain::data
