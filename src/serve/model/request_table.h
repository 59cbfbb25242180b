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
/// missing values and errors. Thread-safe.
class RequestTable {
 public:
  /// For a run that was trained on a table. `adapted`: as kept by the run.
  RequestTable(const data::DataOptions& options, data::Adapted adapted);

  /// `given`: of each of `inputs`; `count` rows from `first` on. Without the inputs of pictures. Throws Error and
  /// Refused, naming the example and the column.
  std::vector<data::Features> read(const std::vector<ServedInput>& inputs, const std::vector<const Tensor*>& given,
                                   std::int64_t first, std::int64_t count) const;

 private:
  data::Adapted adapted_;
  data::Csv source_;  ///< how the lines that are made of requests are read
};

}  // namespace mirrortrain
