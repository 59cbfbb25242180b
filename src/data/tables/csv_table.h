#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/tables/adapted.h"
#include "data/tables/csv.h"

namespace mirrortrain::data {

class CsvFile;

/// The files of pictures that a column of a table names, read when they are asked for.
class StoredPaths {
 public:
  virtual ~StoredPaths() = default;
  /// Thread-safe. Throws Error if the table has changed.
  virtual std::string path(std::int64_t row) const = 0;
};

/// The cells that an input of pictures or texts has.
struct TableContent {
  std::vector<std::string> pictures{};         ///< files, one for each row
  std::shared_ptr<const StoredPaths> paths{};  ///< the same where they are not held; else null
  std::optional<Array> tokens{};               ///< [rows, length]; uint8 if there are at most 256, else int32
};

/// What is known of the numbers of a column that is read by position.
struct ColumnFacts {
  bool fits_float = true;  ///< whether float32 has all of them
  bool has_missing = false;
  double sum = 0;  ///< of those that are not missing, in the order of the rows
  std::int64_t count = 0;

  /// The next cell; NaN: it is missing.
  void add(double number);
};

/// A table as in its files: numbers, and words by their number in order of appearance.
struct CsvTable {
  AdaptedTable columns;                         ///< of the training data; without words and means if this is it
  Array features;                               ///< float64 [rows, columns.features]; NaN: a missing number
  std::vector<ColumnFacts> facts;               ///< of each of these columns, if they are read by position, else none
  std::vector<std::vector<std::string>> words;  ///< of each of these columns; empty for numbers and bins
  std::vector<TableContent> contents;           ///< of each of columns.inputs; empty for numbers and words
  /// In the order written; float64 [rows] or [rows, label columns]. Without labels there is one, [rows, 0].
  std::vector<Labels> outputs;
  std::vector<std::vector<std::string>> label_words;  ///< of each output; empty if its labels are numbers
  std::vector<std::string> remarks;                   ///< for the user

  std::int64_t rows() const { return features.rows(); }
};

/// Parameters of reading a table in addition to its options.
struct CsvReading {
  const Adapted* adapted = nullptr;  ///< values adapted to the training data; null if this is the training data
  bool wants_labels = true;          ///< if false, label and weight columns may be absent and are ignored
  BadExamples* bad = nullptr;        ///< collects rows that are left out; null: the first is an error
  /// For rows that are a part of a file: whether the next cell of a column behind them that is neither empty nor a mark
  /// of a missing number is a number. None: nothing follows.
  std::function<bool(std::size_t column)> numbers_follow{};
};

/// Throws Error, naming file, line, row and column, for data that are not a table or do not fit the training data;
/// WrongKey for columns that the table lacks, at the key that names them.
CsvTable read_table(const Csv& options, const CsvReading& reading);

/// The same for rows that are a part of a file; remarks on columns are those of every part.
CsvTable read_rows(CsvFile& rows, const Csv& options, const CsvReading& reading);
/// Remarks for the user on the first rows of a file whose rows are read in parts; a thousand are enough.
std::vector<std::string> remarks_on_rows(CsvFile& rows, const Csv& options, const CsvReading& reading);

/// The table's columns with the words and means of these rows.
AdaptedTable adapted_table(const CsvTable& table, const Csv& options, const std::vector<std::int64_t>& rows);

/// The classes of each output whose labels are words, sorted by code point.
std::map<std::string, std::vector<std::string>, std::less<>> sorted_classes(const CsvTable& table);

/// The table as numbers, float32 if that represents all of them exactly, else float64. Words that `adapted` does not
/// have are an error that names the row; `bad`, unless null, collects such rows if they are to be left out.
Examples encoded(CsvTable table, const Adapted& adapted, BadExamples* bad = nullptr);
/// As `facts`, found by reading all rows.
std::vector<ColumnFacts> facts_of(const CsvTable& table);
/// Keeps only these rows (ascending).
void keep_rows(CsvTable& table, const std::vector<std::int64_t>& rows);

}  // namespace mirrortrain::data
