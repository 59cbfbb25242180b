#pragma once

#include <string>

#include "data/adapted.h"
#include "data/dataset.h"
#include "data/fit.h"
#include "data/options.h"

namespace mirrortrain::data {

/// What a file of new data is: by its ending, else of the format of the test data, or of the training data. Options
/// beside the file are theirs where the format is the same. Throws UsageError where a format takes no single file.
Source new_source(const std::string& path, const DataOptions& options);

/// Reads examples without their labels, which the file may have or not; every label is 0 instead. Throws Error for what
/// is missing or broken; with `on_bad` kSkip, examples that cannot be used are left out.
Dataset read_new(const Source& source, const Adapted& adapted, std::int64_t one_hot_depth, const InputSpec& spec,
                 OnBadExample on_bad, int threads);

}  // namespace mirrortrain::data
