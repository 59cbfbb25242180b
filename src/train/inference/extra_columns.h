#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/sources/data_options.h"
#include "data/tables/adapted.h"

namespace mirrortrain {

/// Columns to write in addition to the predictions.
struct WantedColumns {
  std::optional<std::string> data;  ///< new data; null: a split of the run's own
  std::vector<std::string> keep;    ///< columns of a new table; "file" for new images
  bool labels = false;              ///< the true labels, if the data have any
};

/// Columns of texts.
struct ExtraColumns {
  std::vector<std::string> names;
  std::vector<bool> are_numbers{};  ///< by column, of those that may be: labels that name no class; may be shorter
  std::vector<std::vector<std::string>> rows;  ///< by the example's number in the data
};

/// `adapted`: as kept by the run; may be null. Throws UsageError for columns that the data cannot have, and Error for
/// one that a table lacks.
ExtraColumns extra_columns(const WantedColumns& wanted, const data::DataOptions& options, const data::Adapted* adapted,
                           const data::Dataset& examples);

/// The first input of pictures in files, null if there is none.
const data::ExampleSource* pictures_of(const data::Dataset& examples);

/// How many examples were left out among these; 0 if these are a fraction of a source: it is unknown which part the
/// omitted ones were in.
std::int64_t left_out_within(const data::Dataset& examples);

}  // namespace mirrortrain
