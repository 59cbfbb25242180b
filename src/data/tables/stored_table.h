#pragma once

#include "data/files/unpacked_files.h"
#include "data/tables/csv_table.h"

namespace mirrortrain::data {

/// The same table as `read_table` gives, whose rows are parsed when they are read: of each row its place is held, 8
/// bytes, and of each column its different words; and labels of one number, weights and missing labels. The files are
/// read once, by several threads, which checks every row; compressed ones are unpacked into `cache`. Throws as
/// `read_table` does.
CsvTable open_table(const Csv& options, const CsvReading& reading, const UnpackedFiles& cache, int threads);

}  // namespace mirrortrain::data
