#pragma once

#include <string>

#include "config/errors.h"
#include "train/configuration/checked_configuration.h"
#include "train/warnings/splits_to_check.h"

namespace mirrortrain {

/// The number of examples of each class in the splits: "classes: train cat 90, dog 10; validation cat 9, dog 1". Empty
/// if labels are not classes.
std::string class_counts_note(const CheckedConfiguration& checked, const SplitsToCheck& splits);

/// Warns of classes of the training data that are missing from a split, or have fewer than five examples in it: metrics
/// of such a class are unreliable.
void warn_of_rare_classes(const CheckedConfiguration& checked, const SplitsToCheck& splits, config::Errors& errors);

}  // namespace mirrortrain
