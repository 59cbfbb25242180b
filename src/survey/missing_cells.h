#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "data/tables/csv.h"

namespace mirrortrain::survey {

/// The columns of a table that have empty cells, or marks of missing values, with their number, in the order of the
/// file. Reads the table once, some rows at a time.
std::vector<std::pair<std::string, std::int64_t>> missing_cells(const data::Csv& table);

}  // namespace mirrortrain::survey
