#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "data/tables/adapted.h"
#include "data/tables/csv.h"

namespace mirrortrain::survey {

/// The columns of a table that have empty cells, or marks of missing values, with their number, in the order of the
/// first file. In columns of words, by `adapted`, a word such as "NA" is no missing number. Reads the table once, some
/// rows at a time.
std::vector<std::pair<std::string, std::int64_t>> missing_cells(const data::Csv& table, const data::Adapted& adapted);

}  // namespace mirrortrain::survey
