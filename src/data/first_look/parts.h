#pragma once

#include <optional>
#include <string>

#include "data/first_look/look_at_data.h"
#include "data/sources/data_options.h"

namespace mirrortrain::data {

// The parts of look_at_data.

/// A .csv or .tsv table.
DataLook look_at_table(const FirstLook& at);

/// Reads data.train of the options and describes its examples, shapes and classes.
void describe(const DataOptions& options, DataLook& look);

}  // namespace mirrortrain::data
