#pragma once

#include <string>

#include "tune/search_space.h"
#include "tune/study_rows.h"

namespace mirrortrain::tune {

/// The bytes of a study's file of events for TensorBoard's page of hyperparameters.
std::string study_hparams(const SearchSpace& space, const WatchedMetric& objective);
/// Those of a trial's, once it has ended.
std::string trial_hparams(const SearchSpace& space, const WatchedMetric& objective, const TrialRow& row);

}  // namespace mirrortrain::tune
