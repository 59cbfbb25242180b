#pragma once

#include "config/errors.h"
#include "data/dataset.h"
#include "train/check_configuration.h"

namespace mirrortrain {

/// Reads the data that the configuration names, each split on its own, and adds what is wrong at its place: files that
/// do not exist, shapes and labels that do not fit the model. What the file alone shows is not looked at again. Then
/// what warn_of_data finds.
void check_data(const CheckedConfiguration& checked, config::Errors& errors);

/// Adds warnings of what can be trained but is hardly meant: a batch larger than the data, a validation split of a few
/// examples, labels that are all the same or look like class numbers, features of very different or large scale that
/// nothing normalizes. `validation` may be null.
void warn_of_data(const CheckedConfiguration& checked, const data::Dataset& train, const data::Dataset* validation,
                  config::Errors& errors);

/// Throws UsageError where gradients are accumulated over more steps than the run has, so that no weight ever changes.
void require_updates(const CheckedConfiguration& checked, std::int64_t steps);

}  // namespace mirrortrain
