#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/tables/column_uses.h"
#include "data/tables/csv_file.h"
#include "data/tables/csv_table.h"
#include "data/tables/row_cells.h"

namespace mirrortrain::data {

/// Reads tables: whole ones, parts of them, or what their files' first lines say.
class TableReader {
 public:
  TableReader(const Csv& options, const CsvReading& reading);
  /// For rows that are a part of a file.
  TableReader(const Csv& options, const CsvReading& reading, const FirstLine& line);
  /// The same where the columns are known.
  TableReader(const Csv& options, const CsvReading& reading, const FirstLine& line, AdaptedTable columns);

  CsvTable read();
  CsvTable read_part(CsvFile& rows);
  /// Rows of a file with these uses of its columns. `kinds`: of the labels as far as known before; then also by these.
  CsvTable read_block(CsvFile& rows, const ColumnUses& uses, std::vector<LabelCells::Kind>& kinds);
  std::vector<std::string> remarks(CsvFile& rows);

  /// Calls open(path, known names of columns), which returns what has a CsvFile's first line and remarks, for each of
  /// the files, checks it, and calls opened(), from which on the columns are known.
  template <class Open, class Opened>
  void open_files(const Open& open, const Opened& opened);
  const std::vector<std::string>& paths() const { return paths_; }
  const AdaptedTable& columns() const { return table_.columns; }
  ColumnUses uses_in(const CsvFile& file);
  /// Remarks on a file's cells, of which it has a thousand rows.
  void add_remarks(CsvFile& file, const ColumnUses& uses);
  void add_remark(std::string remark) { table_.remarks.push_back(std::move(remark)); }
  std::vector<std::string> take_remarks() { return std::move(table_.remarks); }

 private:
  void begin_columns(const FirstLine& line);
  void begin(std::int64_t most);
  void begin_outputs(std::int64_t most);
  void read_rows(CsvFile& file, const ColumnUses& uses, TableCursor& at);
  void warn_of_label_column(CsvFile& file);
  bool pass_header(CsvFile& file);
  bool read_row_or_leave_out(TableCursor& at, const ColumnUses& uses);
  void keep_contents();
  CsvTable finish(bool several_files);
  void forget_unused_words(std::size_t output);

  const Csv& options_;
  const CsvReading& reading_;
  CsvTable table_;
  std::vector<std::string> paths_;
  std::optional<RowCells> cells_;
  std::vector<Array::Part> parts_;
  std::int64_t row_ = 0;  ///< including those that are left out
  std::int64_t kept_ = 0;
  std::int64_t repeated_headers_ = 0;
  std::string first_repeated_;        ///< its file and line
  std::vector<std::int64_t> picked_;  ///< of the kept rows; empty while all are kept
};

template <class Open, class Opened>
void TableReader::open_files(const Open& open, const Opened& opened) {
  std::optional<std::vector<std::string>> known;  // names of columns; of the training data, else of the first file
  if (reading_.adapted != nullptr && reading_.adapted->table) known = reading_.adapted->table->header;
  std::optional<FirstLine> first;
  for (const std::string& path : paths_) {
    const CsvFile& file = open(path, known ? &*known : nullptr);
    table_.remarks.insert(table_.remarks.end(), file.remarks().begin(), file.remarks().end());
    if (!first) first = file.first_line();
    if (!first->header.empty() && file.first_line().header.empty()) {
      add_remark(path + ": this file has no header, so that its columns are taken in the order of the first");
    }
    if (!known) known = file.first_line().header;
    begin_columns(*first);
    opened();
  }
}

}  // namespace mirrortrain::data
