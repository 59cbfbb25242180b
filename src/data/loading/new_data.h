#pragma once

#include <string>

#include "data/dataset.h"
#include "data/loading/model_fit.h"
#include "data/sources/data_options.h"
#include "data/tables/adapted.h"

namespace mirrortrain::data {

/// The format of a file of new data: by its extension, else that of the test data or of the training data. If the
/// format is the same, their other options are used. Throws UsageError for formats that do not consist of a single
/// file, and for the data of one input where the model has several.
Source new_source(const std::string& path, const DataOptions& options);

/// Whether a table of the training data has paths of pictures.
bool has_columns_of_pictures(const DataOptions& options);

/// Reads examples without their labels, which the file may have or not; all labels are 0. Throws Error for data that
/// are missing or broken; with `on_bad` kSkip, unusable examples are left out.
Dataset read_new(const Source& source, const Adapted& adapted, const Wanted& wanted, OnBadExample on_bad, int threads);

/// The same for features that were read already.
Dataset without_labels(std::vector<Features> features, const Wanted& wanted);

/// The cells of columns of a table, as written: a list of `columns` for each row, including those that are left out.
/// `known`: the names of the training data's columns. Throws Error for a column that the table does not have.
std::vector<std::vector<std::string>> column_texts(const Csv& table, const std::vector<std::string>& columns,
                                                   const std::vector<std::string>& known);
/// Whether a table has a column of this name, or of this number if it has no header.
bool has_column(const Csv& table, const std::string& column, const std::vector<std::string>& known);

}  // namespace mirrortrain::data
