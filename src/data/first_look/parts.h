#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "data/first_look/look_at_data.h"
#include "data/sources/data_options.h"

namespace mirrortrain::data {

// The parts of look_at_data.

/// A .csv or .tsv table.
DataLook look_at_table(const FirstLook& at);

/// A size for all pictures, height and width: theirs if all are equal, else a square of about the median height, at
/// most 128. `files`: at least one. Throws Error for a file that is no picture.
std::array<std::int64_t, 2> common_size(const std::vector<std::string>& files);

/// Reads data.train of the options and describes its examples, shapes and classes.
void describe(const DataOptions& options, DataLook& look);

}  // namespace mirrortrain::data
