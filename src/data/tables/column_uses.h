#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "data/tables/adapted.h"
#include "data/tables/csv.h"
#include "data/tables/csv_columns.h"

namespace mirrortrain::data {

/// What a file's column is read for.
struct ColumnUse {
  enum class Kind : std::uint8_t { kNumber, kWord, kCrossed, kPicture, kText, kLabel, kWeight };
  Kind kind = Kind::kNumber;
  std::size_t place = 0;   ///< which of AdaptedTable's features, or of its inputs; or which of the file's outputs
  std::size_t within = 0;  ///< which of an output's label columns, or of a crossing's parts

  friend bool operator==(const ColumnUse&, const ColumnUse&) = default;
  bool is_of_input() const { return kind != Kind::kLabel && kind != Kind::kWeight; }
};
/// The uses of each column; it is passed over if there are none.
using ColumnUses = std::vector<std::vector<ColumnUse>>;

/// The uses of a file's columns, which must have those of `table` by name, or by number if one of them has no header.
/// Additional columns in new data are ignored with a note in `remarks`. Throws Error, naming the file, for columns that
/// do not exist or, unless inputs or outputs have names, are used twice.
ColumnUses uses_of(const FirstLine& line, const AdaptedTable& table, const Csv& options, bool wants_labels,
                   std::vector<std::string>& remarks);

/// The names of the columns of a table's files that are read; null where that is known of none, or all may be. `known`:
/// the training data's table; null if this is it.
std::optional<std::set<std::string>> wanted_names(const Csv& options, const AdaptedTable* known, bool wants_labels);

}  // namespace mirrortrain::data
