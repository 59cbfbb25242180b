#pragma once

#include <string>
#include <vector>

#include "config/errors.h"
#include "keras/reading/convert_training.h"

namespace mirrortrain::cli {

/// A line of the errors of a configuration that was looked at in a trial file, "FILE:15:32: metrics[2].precision: ...",
/// which has neither name nor lines for a user.
struct TrialError {
  std::string key, message;  ///< no key: a line of another kind, whole
};

/// `trial`: the file's path.
std::vector<TrialError> trial_errors(const config::Errors& errors, const std::string& trial);

/// Leaves out the metrics that the configuration's own checks refuse, as one of more classes than there are, with a
/// warning: they are no reason to refuse the model.
void leave_out_refused_metrics(const std::vector<TrialError>& errors, keras::ConvertedTraining& training);

}  // namespace mirrortrain::cli
