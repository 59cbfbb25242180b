#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/tables/adapted.h"
#include "data/tables/csv.h"
#include "data/tables/csv_file.h"

namespace mirrortrain::data {

/// Some rows of a table, one after the other.
struct TablePart {
  std::int64_t count = 0;                         ///< of the rows
  std::optional<CsvFile> rows{};                  ///< absent: a row that is none
  std::string fault{};                            ///< what is wrong with that; it counts like any other
  std::vector<std::vector<std::string>> cells{};  ///< of the wanted columns, for each row
};

/// The rows of new data, a file or a pipe, which are read once and part by part: memory holds one part. Every method
/// throws Error for what is no such table, and ReadingStopped.
class TableRows {
 public:
  virtual ~TableRows() = default;

  /// The names of the columns: those of a header, else numbers; of rows of JSON, the keys of the first.
  virtual std::vector<std::string> names() = 0;
  /// The columns of which a part has the cells, as written; before the first part.
  virtual void want(const std::vector<std::string>& columns) = 0;
  /// Whether the cells of these are JSON, rather than what a cell of CSV has.
  virtual bool are_cells_json() const { return false; }
  /// At most `most` of the next rows, and fewer where a pipe has no more at the moment; null at the end.
  virtual std::optional<TablePart> next(std::int64_t most) = 0;
  /// Whether it is known that no row is left.
  virtual bool at_end() = 0;

  /// Of the file, from its first line on; null for rows of JSON.
  virtual const FirstLine* first_line() { return nullptr; }
  /// Remarks for the user, those that are new.
  virtual std::vector<std::string> take_remarks() { return {}; }
  /// Bytes read, and of all where that is known.
  virtual std::uint64_t bytes_read() const = 0;
  virtual std::optional<std::uint64_t> bytes() const = 0;
};

/// Opens new data, as CSV, or as JSON, one object a line, where the name ends in .jsonl, .ndjson or .json, or stdin or
/// a pipe begins with a brace. `path`: "-" for stdin. `known`: as CsvFile takes it. `table`: of the training data; null
/// if that was none, and then JSON is refused. `reports_rows`: whether a row that is no JSON is a part with a fault,
/// rather than an error. All must outlive the rows.
std::unique_ptr<TableRows> open_rows(const std::string& path, const Csv& options, const std::vector<std::string>* known,
                                     const AdaptedTable* table, bool reports_rows, std::function<bool()> stops);

}  // namespace mirrortrain::data
