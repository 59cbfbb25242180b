#pragma once

#include "model/model.h"
#include "train/configuration/configuration.h"

namespace mirrortrain {

/// Adds an error if the run does not have a metric that is watched, or not on these data.
void check_watched(const WatchedMetric& watched, const Configuration& values, const Model& model,
                   config::Errors& errors);

/// Adds an error for each callback that monitors a metric that the run does not have, or that cannot have any effect.
void check_callbacks(const Configuration& values, const Model& model, config::Errors& errors);

}  // namespace mirrortrain
