#pragma once

#include <cstddef>
#include <memory>

#include "data/stored_rows.h"
#include "data/tables/row_parser.h"

namespace mirrortrain::data {

/// The numbers of a table's columns of numbers and words, float64 [rows, columns], words by their numbers.
std::shared_ptr<const StoredRows> stored_cells(std::shared_ptr<const HeldTable> table);
/// The tokens of an input's texts.
std::shared_ptr<const StoredRows> stored_tokens(std::shared_ptr<const HeldTable> table, std::size_t input, DType dtype);
/// The labels of an output, float64, words by their numbers; missing ones are 0, and NaN among words.
std::shared_ptr<const StoredRows> stored_labels(std::shared_ptr<const HeldTable> table, std::size_t output);
/// The files of an input's pictures.
std::shared_ptr<const StoredPaths> stored_paths(std::shared_ptr<const HeldTable> table, std::size_t input);

}  // namespace mirrortrain::data
