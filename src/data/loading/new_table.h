#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/example_spec.h"
#include "data/tables/adapted.h"
#include "data/tables/csv_table.h"
#include "data/tables/table_rows.h"

namespace mirrortrain::data {

/// Rows of new data that were read together; those before were read before.
struct TableBlock {
  std::optional<Dataset> examples;                ///< null: none of the rows can be used
  std::int64_t first = 0, rows = 0;               ///< the number of the first in the whole data; those left out count
  std::vector<std::int64_t> left_out{};           ///< numbers in the whole data, ascending
  std::vector<std::vector<std::string>> cells{};  ///< of the wanted columns, for each row
};

/// New data in tables, CSV or rows of JSON, read block by block: memory holds one. The blocks' size, and how many rows
/// a pipe has ready at a time, change no number that is made of them.
class NewTable {
 public:
  struct Options {
    std::vector<std::string> files;  ///< read in this order; "-" alone for stdin
    Csv table;                       ///< of the run's data
    OnBadExample on_bad = OnBadExample::kError;
    int threads = 1;
    std::int64_t block_rows = 1024;
    std::function<bool()> stops{};  ///< asked while a pipe has nothing; may be empty
  };
  /// `adapted`: as kept by the run. `wanted` and both must outlive this.
  NewTable(Options options, const Adapted& adapted, const Wanted& wanted);

  // All throw Error for data that are missing or broken, and ReadingStopped.

  /// The columns of the first file; of rows of JSON the keys of the first.
  std::vector<std::string> names();
  /// The columns of which blocks have the cells, as written; before the first block.
  void want(std::vector<std::string> columns);
  /// Whether these are JSON, of rows of JSON; else they are what cells of CSV have.
  bool are_cells_json() const { return are_cells_json_; }
  /// Null at the end, where Error is thrown if no row could be used at all.
  std::optional<TableBlock> next();

  /// Whether it is not known, without waiting for a pipe, that `next` has nothing left.
  bool has_more();

  /// At most as many rows are read at a time.
  void set_block_rows(std::int64_t rows) { options_.block_rows = rows; }
  std::int64_t rows() const { return rows_; }
  std::uint64_t bytes_read() const;
  /// Of all files; null where one is a pipe.
  std::optional<std::uint64_t> bytes() const { return bytes_; }
  /// Remarks for the user on what was read; each once.
  std::vector<std::string> take_remarks();
  /// The rows left out so far; null if there are none.
  std::optional<LeftOut> left_out() const;

 private:
  bool open_next();
  std::unique_ptr<TableRows> open(std::size_t file);
  void close();
  std::optional<TablePart> next_part();
  void add_to_head(TablePart& part);
  void remark_on_head();
  Examples examples_of(TablePart& part, BadExamples& bad) const;
  TableBlock block_of(TablePart part);
  void split_where_wide(TableBlock block);
  void look_for_wide();
  void leave_out(const LeftOut& left, TableBlock& block);
  void add_remarks(const std::vector<std::string>& remarks);

  Options options_;
  const Adapted& adapted_;
  const Wanted& wanted_;
  std::vector<std::string> columns_;  ///< those wanted
  bool are_cells_json_ = false;
  std::size_t file_ = 0;  ///< the one that is open
  std::unique_ptr<TableRows> file_rows_;
  std::optional<FirstLine> first_line_;  ///< of the first file
  std::int64_t rows_ = 0, kept_ = 0;
  std::uint64_t bytes_closed_ = 0;
  std::optional<std::uint64_t> bytes_;
  /// By input: whether a number so far was none of float32, so that from its row on all are float64, as they are in a
  /// whole table with such a number.
  std::vector<bool> is_wide_;
  std::deque<TableBlock> ready_;
  struct Head {
    FirstLine line;
    std::string text{};
    char delimiter = ',', point = '.';
    std::int64_t rows = 0;
  };
  std::optional<Head> head_;  ///< the first rows of the file, until they are enough for remarks
  std::vector<std::string> remarks_;
  std::set<std::string> remarked_;
  LeftOut left_out_;
};

}  // namespace mirrortrain::data
