#pragma once

#include <array>
#include <string_view>

#include "config/section.h"
#include "data/tables/csv.h"

namespace mirrortrain::data {

/// A table in Parquet files: its columns are those of a CSV file with a header that has the same cells.
struct Parquet : Csv {
  static constexpr std::string_view kName = "parquet";
  static constexpr std::string_view kAliases = "pq, arrow";
  static constexpr std::array<config::Advice, 0> kAdvice{};
  static config::Section<Parquet> section();
};

/// Whether pandas named a column so: the index of the rows, which it saves with them where it does not just count them
/// and has no name of its own.
inline bool is_index_of_pandas(std::string_view column) {
  return column.starts_with("__index_level_") && column.ends_with("__");
}

}  // namespace mirrortrain::data
