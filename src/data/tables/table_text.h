#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/tables/csv.h"

namespace mirrortrain::data {

/// How a table's text stands for its file.
struct TableForm {
  bool is_of_lines = true;  ///< whether the file itself has such lines
  /// For each column why it has no cells, empty if it has; empty if all have.
  std::vector<std::string> why_no_cells{};
};

/// The text of a table's file, as it is or as what says the same.
struct TableText {
  Bytes bytes;
  TableForm form{};
};

/// How a Parquet file's text stands for it; what is read of the file itself for another.
TableForm form_of(const std::string& path);

/// All of a file, inflated if it is compressed; of a Parquet file the lines of CSV with its rows. `wanted`: the names
/// of columns whose cells are needed; null: all. Throws Error if it cannot be read.
TableText read_table_text(const std::string& path, const std::optional<std::set<std::string>>& wanted);

/// How lines that are made of Parquet are read.
Csv options_of_made_lines(const Csv& options);

}  // namespace mirrortrain::data
