#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/files/positioned_file.h"
#include "data/files/unpacked_files.h"
#include "data/tables/column_uses.h"
#include "data/tables/csv_file.h"
#include "data/tables/table_text.h"

namespace mirrortrain::data {

/// A file of a table, as it is read by position.
struct TableFile {
  std::string path;  ///< as it was given
  TableForm form{};
  std::shared_ptr<const UnpackedFile> unpacked{};
  std::shared_ptr<const PositionedFile> file{};
  std::shared_ptr<CsvFile> beginning{};      ///< its first rows, or line
  std::shared_ptr<const ColumnUses> uses{};  ///< the same for files of the same columns
  std::int64_t first_row = 0;                ///< of those that are kept
};

/// Makes the file readable at any place: itself, or what is unpacked of it into `cache`, or made of its columns there.
void open_at_places(TableFile& file, const UnpackedFiles& cache);

/// A file's first line, with as many rows as are looked at to understand it. `known`: as CsvFile takes it.
std::shared_ptr<CsvFile> beginning_of(const TableFile& file, const Csv& options, const std::vector<std::string>* known);

/// Whether a table takes more than so many bytes in memory: its text, its cells as numbers, and what they are encoded
/// as. Of compressed files as much as is needed to know it is read.
bool exceeds_in_memory(const Csv& options, std::uint64_t bytes);

}  // namespace mirrortrain::data
