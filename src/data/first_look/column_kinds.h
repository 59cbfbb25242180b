#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/first_look/table_columns.h"

namespace mirrortrain::data {

/// What the cells of a table's column are to a model.
enum class ColumnKind : std::uint8_t {
  kNone,      ///< nothing that says anything of new rows
  kValues,    ///< numbers or few words, which go side by side with those of other columns
  kIds,       ///< many numbers or words that repeat, each of which is to get a vector of its own
  kPictures,  ///< paths of files of pictures
  kTexts,     ///< sentences
};

struct ColumnLook {
  ColumnKind kind = ColumnKind::kValues;
  std::string why{};                 ///< why it is of this kind; empty for kValues
  std::int64_t without_picture = 0;  ///< rows whose cell names no picture that exists
  std::vector<std::string> files{};  ///< of pictures, each once
};

/// Decides by the cells and, for numbers that are ids, by the name: amounts have many different numbers too. `columns`:
/// how many the table has. `folder`: the table's, in which pictures are.
ColumnLook look_at_column(const TableColumn& column, std::size_t columns, const Csv& csv,
                          const std::filesystem::path& folder);

/// The number of bytes that most of a column's texts fit in, for their length as tokens.
std::int64_t text_length(const TableColumn& column);

}  // namespace mirrortrain::data
