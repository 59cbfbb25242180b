#pragma once

#include <string>

#include "config/errors.h"
#include "train/session/check_configuration.h"
#include "train/session/data_warnings.h"

namespace mirrortrain {

/// How many examples of each class the splits have: "classes: train cat 90, dog 10; validation cat 9, dog 1". Empty
/// where labels are no classes.
std::string class_counts_note(const CheckedConfiguration& checked, const SplitsToCheck& splits);

/// Warns, at a split, of classes of the training data that it lacks, or has fewer than five examples of: figures of
/// such a class say little.
void warn_of_rare_classes(const CheckedConfiguration& checked, const SplitsToCheck& splits, config::Errors& errors);

}  // namespace mirrortrain
