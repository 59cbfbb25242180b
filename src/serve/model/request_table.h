#pragma once

#include <cstdint>
#include <vector>

#include "data/dataset.h"
#include "data/sources/data_options.h"
#include "data/tables/adapted.h"
#include "serve/model/served_input.h"
#include "serve/tensors/tensor.h"

namespace mirrortrain {

/// Makes features of the cells that requests have for a table's columns, as of the lines of a csv file: the same words,
/// missing values and errors. `given`: of each of `inputs`; `count` rows from `first` on. Without the inputs of
/// pictures. Throws Error and Refused, naming the example and the column.
std::vector<data::Features> read_cells(const data::DataOptions& options, const data::Adapted& adapted,
                                       const std::vector<ServedInput>& inputs, const std::vector<const Tensor*>& given,
                                       std::int64_t first, std::int64_t count);

}  // namespace mirrortrain
