#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/tables/adapted.h"
#include "data/tables/csv.h"

namespace mirrortrain::data {

/// The role of a file's column.
struct ColumnRole {
  enum class Kind : std::uint8_t { kPassedOver, kNumber, kWord, kLabel, kWeight };
  Kind kind = Kind::kPassedOver;
  std::int64_t place = 0;  ///< index among the features or the labels
};

/// A file's first line.
struct FirstLine {
  std::string file;
  std::vector<std::string> header;  ///< empty if it is not a header
  std::int64_t columns = 0;
};

// All functions throw Error, naming the file, for columns that do not exist or are used twice.

/// The columns of training data, by its options. Adds remarks for the user to `remarks`.
AdaptedTable table_of_options(const Csv& options, const FirstLine& line, std::vector<std::string>& remarks);

/// The roles of a file's columns, which must have those of `table` by name, or by number if one of them has no header.
/// Additional columns in new data are ignored with a note in `remarks`.
std::vector<ColumnRole> roles_of(const FirstLine& line, const AdaptedTable& table, const Csv& options,
                                 bool wants_labels, std::vector<std::string>& remarks);

}  // namespace mirrortrain::data
