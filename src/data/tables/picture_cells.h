#pragma once

#include <filesystem>
#include <string>

#include "data/tables/table_cursor.h"

namespace mirrortrain::data {

/// The file that the cell of a cursor names, a path below `folder`. Throws Error, naming the cell, if there is none.
std::string read_picture(TableCursor& at, const std::filesystem::path& folder);

}  // namespace mirrortrain::data
