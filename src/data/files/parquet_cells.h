#pragma once

#include <arrow/api.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

// Part of the module of Parquet alone, as it shows Arrow's types.

namespace mirrortrain::data {

/// Throws std::runtime_error with what Arrow says went wrong.
inline void require(const arrow::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.message());
}

template <class T>
T taken(arrow::Result<T> result) {
  require(result.status());
  return std::move(result).ValueUnsafe();
}

/// Why a column of this type cannot be cells, as "is nested (list<...>)"; "" if it can.
std::string why_no_cells(const arrow::DataType& type);

/// Appends a value as a cell of CSV; nothing of a null. Its type is one that can be cells.
void put_cell(const arrow::Array& array, std::int64_t row, std::string& to);

}  // namespace mirrortrain::data
