#pragma once

#include <string>

#include "data/dataset.h"
#include "data/loading/model_fit.h"
#include "data/sources/data_options.h"
#include "data/tables/adapted.h"

namespace mirrortrain::data {

/// What a file of new data is: by its ending, else of the format of the test data, or of the training data. Options
/// beside the file are theirs where the format is the same. Throws UsageError where a format takes no single file.
Source new_source(const std::string& path, const DataOptions& options);

/// Reads examples without their labels, which the file may have or not; every label is 0 instead. Throws Error for what
/// is missing or broken; with `on_bad` kSkip, examples that cannot be used are left out.
Dataset read_new(const Source& source, const Adapted& adapted, std::int64_t one_hot_depth, const InputSpec& spec,
                 OnBadExample on_bad, int threads);

/// The cells of columns of a table, as they are written: a list of `columns` for each row, those too that are left out.
/// `known`: the names of the training data's columns. Throws Error for a column that the table does not have.
std::vector<std::vector<std::string>> column_texts(const Csv& table, const std::vector<std::string>& columns,
                                                   const std::vector<std::string>& known);
/// Whether a table has a column of this name, or number where it has no header.
bool has_column(const Csv& table, const std::string& column, const std::vector<std::string>& known);

}  // namespace mirrortrain::data
