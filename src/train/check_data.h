#pragma once

#include "config/errors.h"
#include "data/dataset.h"
#include "train/check_configuration.h"

namespace mirrortrain {

/// Reads the data that the configuration names, each split on its own, and adds what is wrong at its place: files that
/// do not exist, shapes and labels that do not fit the model. What the file alone shows is not looked at again. Then
/// what warn_of_data finds.
void check_data(const CheckedConfiguration& checked, config::Errors& errors);

/// The data of a run as its warnings look at them; `validation` and `test` may be null.
struct SplitsToCheck {
  const data::Dataset *train = nullptr, *validation = nullptr, *test = nullptr;
};

/// Adds warnings of what can be trained but is hardly meant: a batch larger than the data, a validation split of a few
/// examples, splits of one class alone, labels that are all the same, look like class numbers or lie outside what the
/// last layer can give, features of very different or large scale that nothing brings to one.
void warn_of_data(const CheckedConfiguration& checked, const SplitsToCheck& splits, config::Errors& errors);

/// Adds the error of gradients that are accumulated over more steps than the run has, so that no weight ever changes.
/// `steps` 0: not known.
void check_updates(const CheckedConfiguration& checked, std::int64_t steps, config::Errors& errors);
/// Throws UsageError for the same.
void require_updates(const CheckedConfiguration& checked, std::int64_t steps);
/// Throws Error where data.drop_remainder leaves no batch of so many training examples.
void require_batches(const CheckedConfiguration& checked, std::int64_t rows);

}  // namespace mirrortrain
