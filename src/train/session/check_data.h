#pragma once

#include <cstdint>
#include <vector>

#include "config/errors.h"
#include "data/loading/load.h"
#include "train/session/check_configuration.h"

namespace mirrortrain {

/// Reads the data that the configuration names, each split on its own, and adds what is wrong at its place: files that
/// do not exist, shapes and labels that do not fit the model. What the file alone shows is not looked at again. Then
/// what warn_of_data finds.
void check_data(const CheckedConfiguration& checked, config::Errors& errors);

/// Throws Error for files and folders of these splits that do not exist, each at its key, with the --set for data that
/// were moved.
void require_data_files(const CheckedConfiguration& checked, const std::vector<data::Split>& splits);

/// Adds the error of gradients that are accumulated over more steps than the run has, so that no weight ever changes.
/// `steps` 0: not known.
void check_updates(const CheckedConfiguration& checked, std::int64_t steps, config::Errors& errors);
/// The same by training.steps alone, where it is given.
void check_given_steps(const CheckedConfiguration& checked, config::Errors& errors);
/// Throws UsageError for the same.
void require_updates(const CheckedConfiguration& checked, std::int64_t steps);
/// Throws, by throw_data_errors, where data.drop_remainder leaves no batch of so many training examples; what
/// check_updates would find is reported beside it.
void require_batches(const CheckedConfiguration& checked, std::int64_t rows);

/// Throws what a configuration without errors turns out to have, once its data are read: UsageError where steps are to
/// be accumulated that the run does not have, for that number is the configuration's; Error where the data are wrong.
void throw_data_errors(const config::Errors& errors);

}  // namespace mirrortrain
