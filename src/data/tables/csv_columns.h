#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/tables/adapted.h"
#include "data/tables/csv.h"

namespace mirrortrain::data {

/// What a column of a file is read as.
struct ColumnRole {
  enum class Kind : std::uint8_t { kPassedOver, kNumber, kWord, kLabel, kWeight };
  Kind kind = Kind::kPassedOver;
  std::int64_t place = 0;  ///< among the features or the labels
};

/// A file's first line.
struct FirstLine {
  std::string file;
  std::vector<std::string> header;  ///< empty where it is none
  std::int64_t columns = 0;
};

// All throw Error, naming the file, for columns that do not exist or are taken twice.

/// The columns of training data, by its options. What its user should know is added to `remarks`.
AdaptedTable table_of_options(const Csv& options, const FirstLine& line, std::vector<std::string>& remarks);

/// What the columns of a file are, which has those of `table` by name, or by number where one of them has no header.
/// Columns that new data have beside those of `table` are passed over, which is added to `remarks`.
std::vector<ColumnRole> roles_of(const FirstLine& line, const AdaptedTable& table, const Csv& options,
                                 bool wants_labels, std::vector<std::string>& remarks);

}  // namespace mirrortrain::data
