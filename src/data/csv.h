#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/section.h"
#include "data/dataset.h"

namespace mirrortrain::data {

/// A column: its number, from 0, or its name in the header.
using CsvColumn = std::variant<std::int64_t, std::string>;
using CsvColumns = std::variant<std::int64_t, std::string, std::vector<CsvColumn>>;

/// Numbers in columns, one example per line, separated by commas. Cells may be quoted; lines end with LF or CRLF.
struct Csv {
  static constexpr std::string_view kName = "csv";
  config::Path file;
  CsvColumns labels;           ///< the columns that are no labels are the features, in file order
  std::optional<bool> header;  ///< null: the first line is one if it holds no number
  static config::Section<Csv> section();
};

/// Features [rows, columns] float32; labels float64, [rows] for one column, [rows, columns] for a list.
Examples read(const Csv& source);

}  // namespace mirrortrain::data

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::data::CsvColumn> {
  static constexpr std::string_view noun = "a column's name or number";
};
template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::data::CsvColumns> {
  static constexpr std::string_view noun = "a column's name or number, or a list of them";
};
