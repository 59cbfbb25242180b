#pragma once

#include "base/csv_cell.h"

namespace mirrortrain::data {

// A header alone: the module of Parquet, which is linked without this library, quotes cells too.
using mirrortrain::append_quoted_cell;

}  // namespace mirrortrain::data
