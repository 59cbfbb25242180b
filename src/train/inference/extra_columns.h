#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/sources/data_options.h"
#include "data/tables/adapted.h"

namespace mirrortrain {

/// What predictions are written with, beside themselves.
struct WantedColumns {
  std::optional<std::string> data;  ///< new data; null: a split of the run's own
  std::vector<std::string> keep;    ///< columns of a new table; of new pictures "file"
  bool labels = false;              ///< the true label, where the data have one for an example
};

struct ExtraColumns {
  std::vector<std::string> names;
  std::vector<std::vector<std::string>> rows;  ///< by the example's number in the data
};

/// `adapted`: what the run kept; may be null. Throws UsageError for columns that the data cannot have, and Error for
/// one that a table lacks.
ExtraColumns extra_columns(const WantedColumns& wanted, const data::DataOptions& options, const data::Adapted* adapted,
                           const data::Dataset& examples);

/// How many examples were left out among these; 0 where these are a part of a source, as a fraction takes it: which of
/// those left out were in that part, nobody can say.
std::int64_t left_out_within(const data::Dataset& examples);

}  // namespace mirrortrain
