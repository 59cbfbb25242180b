#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/tables/adapted.h"
#include "data/tables/csv.h"

namespace mirrortrain::data {

/// A table as its files have it: numbers, and words by their number in order of appearance.
struct CsvTable {
  AdaptedTable columns;                         ///< of the training data; without words and means where this is it
  Array features;                               ///< float64 [rows, feature columns]; NaN: a missing number
  Array labels;                                 ///< float64 [rows] or [rows, label columns]; [rows, 0] for none
  std::optional<Array> weights;                 ///< float64 [rows]
  std::vector<std::vector<std::string>> words;  ///< of each feature column; empty for numbers
  std::vector<std::string> label_words;         ///< empty where labels are numbers
};

/// What reading a table depends on beside its options.
struct CsvReading {
  const Adapted* adapted = nullptr;  ///< what the training data taught; null where this is the training data
  bool wants_labels = true;          ///< without, label and weight columns may be absent and are passed over
  BadExamples* bad = nullptr;        ///< gathers rows that are left out; null: the first is an error
};

/// Throws Error, naming file, line, row and column, for what is no table or does not fit the training data.
CsvTable read_table(const Csv& options, const CsvReading& reading);

/// The table with the words and means of these of its rows.
AdaptedTable adapted_table(const CsvTable& table, const Csv& options, const std::vector<std::int64_t>& rows);

/// The classes: the words of the labels, sorted by code point.
std::vector<std::string> sorted_classes(const CsvTable& table);

/// The table as numbers, float32 where that holds all of them, else float64. Words that `adapted` does not have are an
/// error that names the row; `bad`, unless null, gathers such rows where they are to be left out.
Examples encoded(CsvTable table, const Adapted& adapted, BadExamples* bad = nullptr);
/// Keeps these rows (ascending) and no others.
void keep_rows(CsvTable& table, const std::vector<std::int64_t>& rows);

}  // namespace mirrortrain::data
