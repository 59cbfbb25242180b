#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/sources/data_options.h"
#include "data/tables/adapted.h"

namespace mirrortrain {

/// Columns to write in addition to the predictions.
struct WantedColumns {
  std::vector<std::string> keep{};  ///< columns of a new table; "file" for new images
  bool labels = false;              ///< the true labels, if the data have any
  bool as_json = false;             ///< whether what is kept of rows of JSON stays JSON
};

/// Columns of texts.
struct ExtraColumns {
  std::vector<std::string> names;
  std::size_t kept = 0;             ///< how many of them, the first ones, are columns of the data
  std::vector<bool> are_numbers{};  ///< by column, of those that may be: labels that name no class; may be shorter
  bool is_kept_json = false;        ///< whether those that are kept are JSON, rather than texts
  std::vector<std::vector<std::string>> rows;  ///< by the example's number in the data
};

// `adapted`: as kept by the run; may be null. All throw UsageError for columns that the data cannot have.

/// Those of a split of the run's own.
ExtraColumns split_columns(const WantedColumns& wanted, const data::Dataset& examples, const data::Adapted* adapted);
/// Those of new data that are no table.
ExtraColumns new_columns(const WantedColumns& wanted, const data::Source& source, const data::Dataset& examples,
                         const data::Adapted* adapted);
/// Those of a new table, whose rows are read later.
struct TableColumns {
  ExtraColumns extra;                ///< without rows
  std::vector<std::string> columns;  ///< the table's names of them
};
/// `names`: of the table's columns.
TableColumns table_columns(const WantedColumns& wanted, const data::Adapted* adapted,
                           const std::vector<std::string>& names);
/// Empties the cells of a table's labels that stand for a missing one. `marks`: which do so among words, too.
void empty_missing_labels(std::vector<std::vector<std::string>>& rows, const ExtraColumns& extra,
                          const std::vector<std::string>& marks);

/// The first input of pictures in files, null if there is none.
const data::ExampleSource* pictures_of(const data::Dataset& examples);

/// How many examples were left out among these; 0 if these are a fraction of a source: it is unknown which part the
/// omitted ones were in.
std::int64_t left_out_within(const data::Dataset& examples);

}  // namespace mirrortrain
