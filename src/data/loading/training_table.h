#pragma once

#include <cstdint>

#include "data/loading/training_parts.h"

namespace mirrortrain::data {

/// Reads the training data from a table, splits them, and adapts words, classes and means to train's rows. Pictures are
/// looked at, and numbers compared with what the model takes, after the parts are split: where rows are left out then,
/// all is done once more without them, so that the parts are those of a table that never had them. Throws Error for
/// data that are missing or broken.
Training read_training_table(const Csv& source, const DataOptions& options, std::uint64_t seed, const Terms& terms);

}  // namespace mirrortrain::data
