#pragma once

#include "model/model.h"
#include "train/session/configuration.h"

namespace mirrortrain {

/// Adds an error for each callback that monitors a metric that the run does not have, or that cannot have any effect.
void check_callbacks(const Configuration& values, const Model& model, config::Errors& errors);

}  // namespace mirrortrain
