#pragma once

#include <string>
#include <vector>

#include "data/folders/image_folder.h"
#include "data/loading/terms.h"
#include "data/records/tfrecord.h"
#include "data/tables/csv_table.h"
#include "data/text/text.h"

namespace mirrortrain::data {

// A source's examples as its format gives them, in memory if they are few enough, else to be read by position.

/// How the classes of pictures are found. `known`: those of the training data; null if this is it.
PictureLabels picture_labels(const std::vector<std::string>* known, const Terms& terms);

/// A table, in memory if it is small enough.
CsvTable table_of(const Csv& source, const CsvReading& reading, const Holding& holding, int threads);
/// Records, in memory if they are few enough.
Examples records_of(const TfRecord& source, BadExamples& bad, const Terms& terms);
/// Windows of texts, in memory if they are few enough.
TokenWindows windows_of(const Text& source, const Terms& terms);
/// The same of arrays.
template <class Format>
Examples opened(const Format& source, const Terms& terms) {
  return settled(
      open(source), terms.holding, requires { source.all_inputs(); });
}

}  // namespace mirrortrain::data
