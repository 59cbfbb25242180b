#pragma once

#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/loading/model_fit.h"
#include "data/sources/data_options.h"
#include "data/tables/adapted.h"
#include "data/tables/csv_table.h"

namespace mirrortrain::data {

/// The files of new data that a user names: "-", paths, and globs, whose matches are sorted. Folders that a glob
/// matches are skipped with a note in `remarks`. Throws Error for files that do not exist and globs without a match,
/// UsageError for stdin beside other files.
std::vector<std::string> new_files(const std::vector<std::string>& named, std::vector<std::string>& remarks);

/// The format of files of new data: by their extension, else that of the test data or of the training data. If the
/// format is the same, their other options are used. Several pictures are an ImageFolder without a directory. Throws
/// UsageError for formats that do not consist of files, for files of several formats, and for the data of one input
/// where the model has several.
Source new_source(const std::vector<std::string>& files, const DataOptions& options);
inline Source new_source(const std::string& file, const DataOptions& options) {
  return new_source(std::vector<std::string>{file}, options);
}

/// Whether a table of the training data has paths of pictures.
bool has_columns_of_pictures(const DataOptions& options);

/// Reads examples without their labels, which the files may have or not; all labels are 0. `files`: those of `source`.
/// Throws Error for data that are missing or broken; with `on_bad` kSkip, unusable examples are left out.
/// `options`: what says how much of them is held in memory.
Dataset read_new(const Source& source, const Adapted& adapted, const Wanted& wanted, OnBadExample on_bad, int threads,
                 const std::vector<std::string>& files = {}, const DataOptions& options = {});

// For tables that are read in parts.
/// A table's examples without labels. Throws Error for columns that are too many or too few, and words that are none.
Examples encoded_new(CsvTable table, const Adapted& adapted, const ExampleSpec& spec, BadExamples* bad);
/// The examples with labels that are 0. Throws NoneUsable where all are left out.
Dataset new_examples(Examples examples, const Wanted& wanted, BadExamples bad);

}  // namespace mirrortrain::data
