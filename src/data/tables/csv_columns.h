#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/tables/adapted.h"
#include "data/tables/csv.h"

namespace mirrortrain::data {

/// A file's first line.
struct FirstLine {
  std::string file;
  std::vector<std::string> header;  ///< empty if it is not a header
  std::int64_t columns = 0;
  /// Names of columns that are made of several of these, and count on behind them.
  std::vector<std::string> crossings{};
  bool has_lines = true;  ///< whether the file has a line for each row, which errors name
  /// For each column why it has no cells, empty if it has; empty if all have.
  std::vector<std::string> why_no_cells{};
};

// All functions throw Error, naming the file, for columns that do not exist or are listed twice.

/// The number of the column with this name; nullopt if there is none.
std::optional<std::int64_t> find_name(const FirstLine& line, const std::string& name);
/// The numbers of columns of a file. `key`: the configuration's, for messages.
std::int64_t number_of(const FirstLine& line, const CsvColumn& column, std::string_view key);
std::vector<std::int64_t> numbers_of(const FirstLine& line, const std::vector<CsvColumn>& columns,
                                     std::string_view key);
/// The same for columns that a key of the configuration names, at which errors are. `name`: of the input or output;
/// empty if there is none.
std::vector<std::int64_t> numbers_of(const FirstLine& line, const config::Located<CsvInput>& input,
                                     const std::string& name);
std::vector<std::int64_t> numbers_of(const FirstLine& line, const config::Located<CsvLabels>& labels,
                                     const std::string& name);
std::int64_t number_of(const FirstLine& line, const config::Located<CsvColumn>& weights, const std::string& name);

/// What is to be done about empty cells of a column of training data; null: they are errors. `header`: of its file.
const Missing* missing_of(const Csv& options, const std::vector<std::string>& header, std::int64_t column);

/// The columns of training data, by its options; none of labels if they are not wanted. Adds remarks for the user to
/// `remarks`. Throws Error also for a vocabulary that cannot be read.
AdaptedTable table_of_options(const Csv& options, const FirstLine& line, bool wants_labels,
                              std::vector<std::string>& remarks);

}  // namespace mirrortrain::data
