#pragma once

#include <cstdint>
#include <vector>

#include "config/errors.h"
#include "data/loading/load.h"
#include "train/session/check_configuration.h"

namespace mirrortrain {

/// How much of the data is looked at.
enum class DataCheck {
  kUpToFirst,  ///< up to the first bad example of a split; pictures are not decoded
  kThorough,   ///< all of them: every example is read, pictures are decoded, and all bad ones are listed
};

/// Reads the data that the configuration names, each split separately, and adds errors at their places: files that do
/// not exist, shapes and labels that do not fit the model. Data in the file itself are not checked again. Then adds the
/// warnings of warn_of_data.
void check_data(const CheckedConfiguration& checked, config::Errors& errors, DataCheck how = DataCheck::kUpToFirst);

/// Throws Error for files and folders of these splits that do not exist, each at its key, with the --set option for
/// moved data.
void require_data_files(const CheckedConfiguration& checked, const std::vector<data::Split>& splits);

/// Adds an error if gradients are accumulated over more steps than the run has, so that no weight ever changes. `steps`
/// 0: unknown.
void check_updates(const CheckedConfiguration& checked, std::int64_t steps, config::Errors& errors);
/// The same only for training.steps, if given.
void check_given_steps(const CheckedConfiguration& checked, config::Errors& errors);
/// Throws UsageError for the same.
void require_updates(const CheckedConfiguration& checked, std::int64_t steps);
/// Throws, by throw_data_errors, if data.drop_remainder leaves no batch of this many training examples; check_updates'
/// error is reported with it.
void require_batches(const CheckedConfiguration& checked, std::int64_t rows);

/// Throws the errors found when the data are read for a configuration without errors: UsageError if more steps are
/// accumulated than the run has, because that is the configuration's number; Error if the data are wrong.
void throw_data_errors(const config::Errors& errors);

}  // namespace mirrortrain
